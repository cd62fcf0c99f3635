"""An Inverse3 on Haply's Inverse Service (3.5 or newer) feels a pad of tissue in Palpate.

    pip install 'clients/python[haply]'
    python haply_inverse3.py [ADDRESS] [--service ws://localhost:10001]

Each message of the service says where the handle is, and the servo's force goes back: capped, limited in its rate, and
gone within 150 ms after Palpate stops to answer. The servo is in the C library, which the wheel has.
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


@dataclass
class Handle:
    """Position of the handle, from a message of the service."""

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
    """Command by which the service pushes the handle until its next message, and sends that."""
    vector = dict(zip("xyz", force_n.tolist(), strict=True))
    # Before version 3.5 the field is called `values` instead of `vector`.
    return {"inverse3": [{"device_id": device_id, "commands": {"set_cursor_force": {"vector": vector}}}]}


def feel(scene: palpate.Scene, render: palpate.Render, socket: ClientConnection) -> None:
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
            exchange(scene, render, socket)
    finally:
        # After any error the device must not keep applying a force.
        with contextlib.suppress(ConnectionClosed):
            socket.send(json.dumps(still))


def exchange(scene: palpate.Scene, render: palpate.Render, socket: ClientConnection) -> None:
    """Poses of the device to Palpate, forces of Palpate to the device."""
    at_s, shown_s, was_ready = time.monotonic(), 0.0, True
    servo = scene.servo(render)
    try:
        for text in socket:
            now_s, handle = time.monotonic(), Handle.of(json.loads(text))
            felt_n = np.zeros(3)
            if handle.is_ready:
                if not was_ready:
                    # The hand begins anew where it is: nothing says how it came there.
                    servo.close()
                    servo = scene.servo(render)
                felt_n = servo.step(handle.pose, now_s - at_s).force_n
            socket.send(json.dumps(command(handle.device_id, felt_n)))
            at_s, was_ready = now_s, handle.is_ready
            if now_s - shown_s > 0.5:
                shown_s = now_s
                is_ready = "" if handle.is_ready else ", not calibrated: put the handle on its rest"
                height_mm, size_n = 1e3 * handle.pose.position_m[2], np.linalg.norm(felt_n)
                print(f"{height_mm:6.1f} mm, {size_n:4.2f} N{is_ready}", flush=True)
                servo.check()
    finally:
        servo.close()


def run(
    address: str,
    service: str,
    stiffness_n_per_m: float = STIFFNESS_N_PER_M,
    max_force_n: float = MAX_FORCE_N,
    max_rate_n_per_s: float = MAX_RATE_N_PER_S,
) -> None:
    """Makes a scene with a pad, and lets the device feel it until the service or Palpate ends."""
    with palpate.connect(address) as server, server.create_scene("inverse3") as scene:
        scene.add_tissue("pad", pad())
        render = palpate.Render(
            scene.add_tool("ball", ball()),
            stiffness_n_per_m,
            max_force_n=max_force_n,
            max_force_rate_n_per_s=max_rate_n_per_s,
        )
        # No compression: it would cost as much time per message as everything else together.
        with connect(service, compression=None) as socket:
            feel(scene, render, socket)


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
