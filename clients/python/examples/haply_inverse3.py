"""An Inverse3 on Haply's Inverse Service (3.5 or newer) feels a pad of tissue in Palpate.

    pip install 'clients/python[haply]'
    python haply_inverse3.py [ADDRESS] [--service ws://localhost:10001]

Each message of the service says where the handle is. That goes into the haptic loop, which does not wait, and the force
of the newest answer goes back: it is as old as a round trip to Palpate, so server and device belong on one machine, and
the spring is soft. For a stiff one there is the servo of the C library (clients/guides/haply.md).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from websockets.exceptions import ConnectionClosed, ConnectionClosedOK
from websockets.sync.client import ClientConnection, connect

import palpate

Array = npt.NDArray[np.float64]

# Height of the pad's upper side, below the middle of the device's workspace.
PAD_TOP_M = -0.03
PAD_SIZE_M = (0.3, 0.3, 0.04)
BALL_RADIUS_M = 0.005
STIFFNESS_N_PER_M = 200.0
MAX_FORCE_N = 3.3
MAX_RATE_N_PER_S = 300.0
# A force is applied in full while its pose is younger than FRESH_S seconds, and not at all from GONE_S on.
FRESH_S, GONE_S = 0.02, 0.05
_NS_PER_S = 1e9


class HandForce:
    """The force on the hand: never above the cap, never changed faster than the rate, and none that is old."""

    def __init__(self, max_force_n: float, max_rate_n_per_s: float) -> None:
        # The force then fades within FRESH_S however seldom the device sends a message: in one step if the messages are
        # further apart.
        if not 0 < max_force_n <= max_rate_n_per_s * FRESH_S:
            raise ValueError(f"{max_force_n} N at {max_rate_n_per_s} N/s do not fade in {FRESH_S} s")
        self._max_force_n = max_force_n
        self._max_rate_n_per_s = max_rate_n_per_s
        self._force_n = np.zeros(3)

    def step(self, wanted_n: Array, age_s: float, dt_s: float) -> Array:
        """The force now, N.

        Args:
            wanted_n: what Palpate said last.
            age_s: of the pose that this is for.
            dt_s: since the last call.
        """
        size_n = float(np.linalg.norm(wanted_n))
        fresh = min(1.0, (GONE_S - age_s) / (GONE_S - FRESH_S))
        # This test also turns a force that is not a number into none.
        if size_n > 0 and fresh > 0 and np.isfinite(size_n):
            wanted_n = fresh * min(1.0, self._max_force_n / size_n) * wanted_n
        else:
            wanted_n = np.zeros(3)
        change_n = wanted_n - self._force_n
        most_n = self._max_rate_n_per_s * min(dt_s, FRESH_S)
        apart_n = float(np.linalg.norm(change_n))
        self._force_n = wanted_n if apart_n <= most_n else self._force_n + most_n / apart_n * change_n
        return self._force_n


@dataclass
class Handle:
    """Where the handle is, as a message of the service says it."""

    device_id: str
    pose: palpate.Pose
    # If false, the position is not reliable.
    is_ready: bool

    @staticmethod
    def of(message: dict[str, Any]) -> Handle:
        """Raises:
        LookupError: no device is connected.
        """
        if not message.get("inverse3"):
            raise LookupError("the service has no Inverse3, expected one at least")
        device = message["inverse3"][0]
        position = device["state"]["cursor_position"]
        # A grip measures its orientation; the Inverse3 itself does not.
        grips = message.get("wireless_verse_grip") or message.get("verse_grip") or [{}]
        turned = grips[0].get("state", {}).get("orientation", {})
        orientation = np.array([turned.get(axis, 0.0) for axis in "xyzw"])
        size = float(np.linalg.norm(orientation))
        pose = palpate.Pose(
            [position[axis] for axis in "xyz"],
            # The grip rounds to 16 bits, and sends all 0 before it is awake.
            orientation / size if size > 0.5 else (0, 0, 0, 1),
        )
        status = device["status"]
        return Handle(device["device_id"], pose, status["ready"] and status["calibrated"])


def command(device_id: str, force_n: Array) -> dict[str, Any]:
    """What makes the service push the handle until its next message, and send that."""
    vector = dict(zip("xyz", force_n.tolist(), strict=True))
    # Before version 3.5 the field is called `values` instead of `vector`.
    return {"inverse3": [{"device_id": device_id, "commands": {"set_cursor_force": {"vector": vector}}}]}


def feel(loop: palpate.HapticLoop, tool: palpate.Tool, socket: ClientConnection, force: HandForce) -> None:
    """Until the service ends the connection, which sends one message for each that it gets."""
    device_id = Handle.of(json.loads(socket.recv())).device_id
    still = command(device_id, np.zeros(3))
    begin = {**still, "session": {"configure": {"profile": {"name": "palpate"}}}}
    # Origin in the middle of the workspace; x to the right, y away from the hand, z up, as the pad lies.
    begin["inverse3"] = [{**still["inverse3"][0], "configure": {"preset": {"preset": "arm_front_centered"}}}]
    socket.send(json.dumps(begin))
    try:
        # Iteration ends normally when the service ends the connection; sending raises an error.
        with contextlib.suppress(ConnectionClosedOK):
            exchange(loop, tool, socket, force)
    finally:
        # After any error the device must not keep applying a force.
        with contextlib.suppress(ConnectionClosed):
            socket.send(json.dumps(still))


def exchange(loop: palpate.HapticLoop, tool: palpate.Tool, socket: ClientConnection, force: HandForce) -> None:
    """Poses of the device to Palpate, forces of Palpate to the device."""
    at_s, was_ready, shown_s = time.monotonic(), False, 0.0
    for text in socket:
        now_s = time.monotonic()
        handle, answer = Handle.of(json.loads(text)), loop.answer
        wanted_n, age_s = np.zeros(3), 0.0
        if handle.is_ready:
            # This never waits: the server may be away for a while.
            loop.send({tool: palpate.ToolPose(handle.pose, teleport=not was_ready)})
            if answer is not None and was_ready:
                wanted_n = answer.renderings[0].force_n
                age_s = (time.monotonic_ns() - answer.client_time_ns) / _NS_PER_S
        felt_n = force.step(wanted_n, age_s, now_s - at_s)
        socket.send(json.dumps(command(handle.device_id, felt_n)))
        at_s, was_ready = now_s, handle.is_ready
        if now_s - shown_s > 0.5:
            shown_s = now_s
            is_ready = "" if handle.is_ready else ", not calibrated: put the handle on its rest"
            print(f"{1e3 * handle.pose.position_m[2]:6.1f} mm, {np.linalg.norm(felt_n):4.2f} N{is_ready}", flush=True)


def run(
    address: str,
    service: str,
    stiffness_n_per_m: float = STIFFNESS_N_PER_M,
    max_force_n: float = MAX_FORCE_N,
    max_rate_n_per_s: float = MAX_RATE_N_PER_S,
) -> None:
    """Makes a scene with a pad, and lets the device feel it until the service or Palpate ends."""
    force = HandForce(max_force_n, max_rate_n_per_s)
    with palpate.connect(address) as server, server.create_scene("inverse3") as scene:
        scene.add_tissue("pad", pad())
        tool = scene.add_tool("ball", ball())
        # The server applies the same limits; HandForce guarantees them for the hand.
        render = palpate.Render(
            tool, stiffness_n_per_m, max_force_n=max_force_n, max_force_rate_n_per_s=max_rate_n_per_s
        )
        # No compression: it would cost as much time per message as everything else together.
        with connect(service, compression=None) as socket, scene.track([tool], render=[render]) as loop:
            feel(loop, tool, socket, force)


def pad() -> tuple[Array, npt.NDArray[np.int64]]:
    """A block, counter-clockwise seen from outside."""
    corners = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-1, 0)])
    faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    triangles = [part for a, b, c, d in faces for part in ((a, b, c), (a, c, d))]
    return corners * PAD_SIZE_M + (0, 0, PAD_TOP_M), np.array(triangles)


def ball(rings: int = 12, sectors: int = 24) -> tuple[Array, npt.NDArray[np.int64]]:
    """A ball about the origin, with a vertex at its lower end."""
    down = np.pi * np.arange(1, rings) / rings
    around = 2 * np.pi * np.arange(sectors) / sectors
    rows = [(np.sin(a) * np.cos(b), np.sin(a) * np.sin(b), np.cos(a)) for a in down for b in around]
    points = np.array([(0, 0, 1), *rows, (0, 0, -1)])
    last, triangles = len(points) - 1, []
    for n in range(sectors):
        m = (n + 1) % sectors
        triangles += [(0, 1 + n, 1 + m), (last, last - sectors + m, last - sectors + n)]
        for ring in range(rings - 2):
            a, b = 1 + ring * sectors + n, 1 + ring * sectors + m
            triangles += [(a, a + sectors, b), (b, a + sectors, b + sectors)]
    return BALL_RADIUS_M * points, np.array(triangles)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("address", nargs="?", default="127.0.0.1:7447")
    arguments.add_argument("--service", default="ws://localhost:10001")
    arguments.add_argument("--stiffness", type=float, default=STIFFNESS_N_PER_M, help="of the spring, N/m")
    arguments.add_argument("--max-force", type=float, default=MAX_FORCE_N, help="that the hand ever feels, N")
    given = arguments.parse_args()
    try:
        with contextlib.suppress(KeyboardInterrupt):
            run(given.address, given.service, given.stiffness, given.max_force)
    except palpate.Unavailable as error:
        sys.exit(str(error))
    except OSError as error:
        sys.exit(f"Haply's Inverse Service does not answer at {given.service}: {error}")


if __name__ == "__main__":
    main()
