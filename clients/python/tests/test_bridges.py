"""The bridges to other programs, each against a public peer over loopback: cyclonedds' own, and pyigtl's."""

from __future__ import annotations

import os
import re
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np
import numpy.typing as npt
import pytest
from support import CLIENT, CORNERS, SIDES, ServerProgram

import palpate

T = TypeVar("T")

# A cube with sides of 100 mm, and a tool whose tip is 5 mm below its origin: it touches at 55 mm.
CUBE_MM = np.array([[x, y, z] for x in (-50, 50) for y in (-50, 50) for z in (-50, 50)], np.float64)
SQUARES = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
HALVES = np.array([half for a, b, c, d in SQUARES for half in ((a, b, c), (a, c, d))])
TOUCH_M = 0.055
# The proxy keeps a distance of 20 um, and the tool's field is accurate to a thousandth of its diagonal of 10 mm.
SLACK_M = 30e-6
STIFFNESS_N_PER_M = 500.0
WITHIN_S = 60.0


def wavefront(file: Path, positions: np.ndarray, triangles: np.ndarray) -> str:
    lines = [f"v {x:g} {y:g} {z:g}" for x, y, z in positions] + [f"f {a} {b} {c}" for a, b, c in triangles + 1]
    file.write_text("\n".join(lines))
    return str(file)


@contextmanager
def example(name: str, *arguments: str) -> Iterator[tuple[str, list[str]]]:
    """An example as a program: its first line, and the lines of stderr as they come."""
    command = [sys.executable, str(CLIENT / "examples" / name), *arguments]
    program = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert program.stdout is not None and program.stderr is not None
    lines, errors = collected(program.stdout), collected(program.stderr)
    try:
        yield until(f"a line of {name}: {errors}", lambda: lines[0] if lines else None), errors
    finally:
        program.kill()
        program.wait()


def collected(stream: IO[str]) -> list[str]:
    """The lines of a stream, as they come."""
    lines: list[str] = []

    def collect() -> None:
        for line in stream:
            lines.append(line)

    threading.Thread(target=collect, daemon=True).start()
    return lines


def until(what: str, look: Callable[[], T | None]) -> T:
    end = time.monotonic() + WITHIN_S
    while (found := look()) is None:
        assert time.monotonic() < end, f"not within {WITHIN_S} s: {what}"
        time.sleep(1e-4)
    return found


def knows(reader: Any) -> bool | None:
    return bool(reader.get_matched_publications()) or None


def show(name: str, latencies_s: list[float]) -> None:
    p50, p99 = 1e3 * np.percentile(latencies_s, [50, 99])
    print(f"{name}: {len(latencies_s)} poses answered, p50 {p50:.2f} ms, p99 {p99:.2f} ms")


def test_an_arm_of_crtk_is_held_back_and_feels_its_force(
    program: ServerProgram, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("cyclonedds", reason="cyclonedds is not installed")
    # This machine alone, and no multicast, which some machines do not route.
    local = (
        '<General><Interfaces><NetworkInterface name="lo" multicast="false"/></Interfaces></General>'
        '<Discovery><ParticipantIndex>auto</ParticipantIndex><Peers><Peer address="127.0.0.1"/></Peers></Discovery>'
    )
    monkeypatch.setenv("CYCLONEDDS_URI", f"<CycloneDDS><Domain>{local}</Domain></CycloneDDS>")
    domain = 100 + os.getpid() % 100
    import crtk_arm as ros
    from cyclonedds.domain import DomainParticipant
    from cyclonedds.pub import DataWriter
    from cyclonedds.sub import DataReader
    from cyclonedds.topic import Topic

    participant = DomainParticipant(domain)
    wanted: Any = DataWriter(participant, Topic(participant, "rt/arm/servo_cp", ros.PoseStamped), ros.QOS)
    measured: Any = DataReader(participant, Topic(participant, "rt/arm/measured_cp", ros.PoseStamped), ros.QOS)
    felt: Any = DataReader(participant, Topic(participant, "rt/arm/body/measured_cf", ros.WrenchStamped), ros.QOS)
    number = 0

    def command(z: float, turn: tuple[float, float, float, float]) -> None:
        nonlocal number
        number += 1
        header = ros.Header(ros.Time(number, 7), "scene")
        wanted.write(ros.PoseStamped(header, ros.Pose(ros.Point(0.0, 0.0, z), ros.Quaternion(*turn))))

    def answer(reader: Any) -> Any:
        """The answer to the newest command."""
        return until(
            "an answer",
            lambda: next((one for one in reader.take(N=10) if one.header.stamp == ros.Time(number, 7)), None),
        )

    def force() -> npt.NDArray[np.float64]:
        wrench = answer(felt).wrench
        return np.array([wrench.force.x, wrench.force.y, wrench.force.z])

    def settles(z: float, turn: tuple[float, float, float, float], expected_n: npt.NDArray[np.float64]) -> None:
        def is_so() -> bool | None:
            command(z, turn)
            return bool(np.linalg.norm(force() - expected_n) <= STIFFNESS_N_PER_M * SLACK_M) or None

        until(f"{expected_n} N at {z}", is_so)

    # Upright, and turned by a quarter about x: up is along y of the tool's frame.
    quarter = float(np.sqrt(0.5))
    turns = [((0.0, 0.0, 0.0, 1.0), (0, 0, 1)), ((quarter, 0.0, 0.0, quarter), (0, 1, 0))]
    meshes = (
        wavefront(tmp_path / "organ.obj", CUBE_MM, HALVES),
        wavefront(tmp_path / "tip.obj", 5 * CORNERS, SIDES),
    )
    settings = ("--scale-to-m", "0.001", "--address", program.address, "--namespace", "/arm", "--domain", str(domain))
    with example("crtk_arm.py", *meshes, *settings) as (first, errors):
        assert "ready" in first
        until("endpoints are matched", lambda: wanted.get_matched_subscriptions() or None)
        for reader in (measured, felt):
            until("endpoints are matched", partial(knows, reader))
        latencies_s = []
        for turn, up in turns:
            for z in np.linspace(0.06, 0.05, 101).tolist():
                sent_s = time.perf_counter()
                command(z, turn)
                force_n, pose = force() @ up, answer(measured)
                latencies_s.append(time.perf_counter() - sent_s)
                assert pose.header.frame_id == "scene"
                at_m = pose.pose.position.z
                assert abs(at_m - max(z, TOUCH_M)) <= SLACK_M, f"the tool is at {at_m}, the hand at {z}"
                # A force that rises too fast is held back.
                assert -1e-6 <= force_n <= STIFFNESS_N_PER_M * (at_m - z) + 1e-6
            # Below, the whole force of the spring; above, none, once it has fallen.
            settles(0.05, turn, STIFFNESS_N_PER_M * (TOUCH_M - 0.05) * np.array(up))
            settles(0.06, turn, np.zeros(3))
        show("CRTK over DDS", latencies_s)

        # What is no pose, and a pose that the server refuses, are reported once for any number in a row and change
        # nothing. The arm reads only the newest command: each waits until the one before is reported.
        def is_reported(z: float, turn: tuple[float, float, float, float], error: str) -> None:
            known = len(errors)
            command(z, turn)
            until("the error of a bad command", lambda: errors[known:] or None)
            command(z, turn)
            time.sleep(0.1)
            command(0.058, turns[0][0])
            assert answer(measured).pose.position.z == pytest.approx(0.058, abs=1e-9)
            assert len(errors) == known + 1 and re.search(f"servo_cp: .*{error}", errors[-1]), errors

        is_reported(0.06, (0.0, 0.0, 0.0, 0.0), "orientation")
        is_reported(1e6, turns[0][0], "tools")


def test_slicer_moves_a_tool_and_sees_proxy_force_and_surface(program: ServerProgram, tmp_path: Path) -> None:
    pyigtl = pytest.importorskip("pyigtl", reason="pyigtl is not installed")
    # The files are in LPS, and the organ lies to the left: its x is negative in RAS.
    meshes = (
        wavefront(tmp_path / "organ.obj", CUBE_MM + (100, 0, 0), HALVES),
        wavefront(tmp_path / "tip.obj", 5 * CORNERS, SIDES),
    )
    with example("slicer_openigtlink.py", *meshes, "--address", program.address, "--lps", "--port", "0") as (first, _):
        port = int(first.split()[-1])
        client = pyigtl.OpenIGTLinkClient(port=port)
        try:
            proxy_mm, latencies_s = np.zeros(3), []
            for z in np.linspace(60, 51, 31):
                matrix = np.eye(4)
                matrix[:3, 3] = (-100, 0, z)
                sent_s = time.perf_counter()
                client.send_message(pyigtl.TransformMessage(matrix, device_name="Tool"))
                message = client.wait_for_message("Proxy", timeout=WITHIN_S)
                latencies_s.append(time.perf_counter() - sent_s)
                proxy_mm = message.matrix[:3, 3]
                assert np.linalg.norm(proxy_mm - (-100, 0, max(z, 55))) <= 1e3 * SLACK_M
            show("OpenIGTLink, with a client that reads every 10 ms", latencies_s)

            def pressed() -> bool | None:
                client.send_message(pyigtl.TransformMessage(matrix, device_name="Tool"))
                wrench = np.array(client.wait_for_message("Force", timeout=WITHIN_S).string.split(), float)
                return bool(np.linalg.norm(wrench[:3] - (0, 0, 2.0)) < 0.02) or None

            until("the spring's force at 4 mm", pressed)
        finally:
            client.stop()

        with socket.create_connection(("127.0.0.1", port), timeout=WITHIN_S) as peer:
            points, triangles = poly_data(peer)
            assert points == pytest.approx(CUBE_MM * (-1, -1, 1) - (100, 0, 0), abs=1e-4)
            assert triangles.tolist() == HALVES.tolist()
            with palpate.connect(program.address) as server:
                tissue = server.scene("slicer").tissues()["tissue"]
                tissue.deform((CUBE_MM + (100, 0, 7)) / 1e3)
            points, _ = poly_data(peer)
            assert points == pytest.approx(CUBE_MM * (-1, -1, 1) + (-100, 0, 7), abs=1e-4)


def poly_data(peer: socket.socket) -> tuple[np.ndarray, np.ndarray]:
    """The next POLYDATA message, as openigtlink.org/protocols/v2_polydata.html has it."""
    stream = peer.makefile("rb", buffering=0)

    def exactly(size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = stream.read(size - len(data))
            assert part, "the connection has ended"
            data += part
        return data

    kind, name, size = struct.unpack("> 2x 12s 20s 8x Q 8x", exactly(58))
    assert (kind.rstrip(b"\0"), name.rstrip(b"\0")) == (b"POLYDATA", b"Tissue")
    body = exactly(size)
    counts = struct.unpack("> 10I", body[:40])
    n_points, n_polygons, polygon_bytes = counts[0], counts[5], counts[6]
    assert counts[1:5] == (0, 0, 0, 0) and counts[7:] == (0, 0, 0)
    points = np.frombuffer(body, ">f4", 3 * n_points, 40).reshape(-1, 3)
    polygons = np.frombuffer(body, ">u4", polygon_bytes // 4, 40 + 12 * n_points).reshape(n_polygons, 4)
    assert len(body) == 40 + points.nbytes + polygons.nbytes and np.all(polygons[:, 0] == 3)
    return points, polygons[:, 1:]
