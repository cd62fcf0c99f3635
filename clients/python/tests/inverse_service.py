"""A stand-in for Haply's Inverse Service and an Inverse3, with a hand that holds it.

It speaks the simulation channel of version 3.5 as Haply documents it (docs.haply.co/inverseSDK, WebSocket Protocol,
Control Commands, Mount & Workspace): a message with all devices on connecting, then one for each that it gets; commands
hold for one message; positions in metres, forces in newtons, in a right-handed frame with z up.
"""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection, serve

DEVICE_ID = "049D"
# Interval between two states of the device, in seconds.
PERIOD_S = 0.001


@dataclass(frozen=True)
class Exchange:
    """A message of the service and the command that came for it. Seconds of `time.monotonic`."""

    sent_s: float
    height_m: float
    received_s: float
    force_n: Any


class InverseService:
    """Serves one client at a time. The hand moves up and down above the origin."""

    def __init__(self, height_m: float) -> None:
        # The device stands there until the first connection.
        self._from = self._to = (time.monotonic(), height_m)
        self._may_speak = threading.Event()
        self._may_speak.set()
        self.is_calibrated = True
        self.exchanges: list[Exchange] = []
        # Messages of clients that do not follow the protocol.
        self.foreign: list[str] = []
        self._server = serve(self._answer, "127.0.0.1", 0, compression=None)
        self.address = f"ws://127.0.0.1:{self._server.socket.getsockname()[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def move(self, height_m: float, within_s: float) -> None:
        """Moves the hand, and waits until it is there and was told."""
        now_s = time.monotonic()
        self._from, self._to = (now_s, self._height_m(now_s)), (now_s + within_s, height_m)
        time.sleep(within_s)
        self.wait(100)

    def wait(self, exchanges: int) -> None:
        """Until there were so many more."""
        wanted, until = len(self.exchanges) + exchanges, time.monotonic() + 60
        while len(self.exchanges) < wanted:
            assert time.monotonic() < until, f"the client sends nothing more: {self.foreign}"
            time.sleep(0.005)

    def fall_silent(self, seconds: float) -> None:
        self._may_speak.clear()
        time.sleep(seconds)
        self._may_speak.set()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()

    def _height_m(self, now_s: float) -> float:
        times, heights = zip(self._from, self._to, strict=True)
        return float(np.interp(now_s, times, heights))

    def _answer(self, connection: ServerConnection) -> None:
        try:
            connection.send(json.dumps({"session_id": 7, **self._devices(self._height_m(time.monotonic()), True)}))
            self._check_first(json.loads(connection.recv()))
            while True:
                self._may_speak.wait()
                sent_s = time.monotonic()
                height_m = self._height_m(sent_s)
                connection.send(json.dumps(self._devices(height_m, False)))
                command = json.loads(connection.recv())
                self._note(command, sent_s, height_m)
                time.sleep(max(0.0, sent_s + PERIOD_S - time.monotonic()))
        except ConnectionClosed:
            pass

    def _devices(self, height_m: float, with_config: bool) -> dict[str, Any]:
        zero, turned = {"x": 0.0, "y": 0.0, "z": 0.0}, {"x": 0.0, "y": 0.0, "z": 0.0, "w": 1.0}
        device: dict[str, Any] = {
            "device_id": DEVICE_ID,
            "state": {
                "cursor_position": {**zero, "z": height_m},
                "cursor_velocity": zero,
                "angular_position": {"a0": 0.0, "a1": 0.0, "a2": 0.0},
                "angular_velocity": {"a0": 0.0, "a1": 0.0, "a2": 0.0},
                "body_orientation": turned,
                "current_cursor_force": zero,
                "control_domain": "cartesian",
                "control_mode": "force",
                "transform": {},
            },
            "status": {
                "calibrated": self.is_calibrated,
                "in_use": True,
                "power_supply": True,
                "ready": True,
                "started": True,
            },
        }
        grip: dict[str, Any] = {
            "device_id": "61548",
            # Rounded like a grip's orientation.
            "state": {"orientation": {"x": 0.0, "y": 0.0, "z": 0.70703125, "w": 0.70703125}, "hall": 0},
            "status": {"connected": True, "awake": True, "ready": True},
        }
        if with_config:
            device["config"] = {"type": "inverse3", "handedness": "right", "preset": "defaults"}
            grip["config"] = {"type": "wireless_verse_grip"}
        return {"inverse3": [device], "wireless_verse_grip": [grip]}

    def _check_first(self, message: dict[str, Any]) -> None:
        session, device = message.pop("session", None), message["inverse3"][0]
        if not session or not isinstance(session["configure"]["profile"]["name"], str):
            self.foreign.append(f"no session in {message}")
        if device.pop("configure", None) != {"preset": {"preset": "arm_front_centered"}}:
            self.foreign.append(f"no preset in {message}")
        if self._force_n(message) != [0, 0, 0]:
            self.foreign.append(f"a force before a position: {message}")

    def _note(self, message: dict[str, Any], sent_s: float, height_m: float) -> None:
        force_n = np.array(self._force_n(message))
        self.exchanges.append(Exchange(sent_s, height_m, time.monotonic(), force_n))

    def _force_n(self, message: dict[str, Any]) -> Any:
        vector = message["inverse3"][0]["commands"]["set_cursor_force"]["vector"] if "inverse3" in message else {}
        expected = {
            "inverse3": [{"device_id": DEVICE_ID, "commands": {"set_cursor_force": {"vector": vector}}}],
        }
        force_n = [vector.get(axis) for axis in "xyz"]
        if message != expected or not all(isinstance(one, float) and np.isfinite(one) for one in force_n):
            self.foreign.append(f"{message}")
            return [0, 0, 0]
        return force_n
