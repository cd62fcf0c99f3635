"""The servo: the force on a hand at the device's own rate, between the answers of a server.

    with scene.servo(palpate.Render(probe, stiffness_n_per_m=300)) as servo:
        wrench = servo.step(pose, dt_s)     # in the device's loop; takes microseconds
        wrench.force_n                      # (3,)

The C library runs it, with a thread and a connection of its own: poses go to the server up to 1,000 times a second, and
its newest answer is a model of the tissue around the proxy, which gives the force wherever the device is now.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntFlag
from typing import Protocol

import numpy as np

from .connection import ServerAddress
from .errors import Closed, PalpateError
from .library import CONTACT, NO_ANSWER, RENDERING, WRENCH, Array, Library, OptionsStruct, link_bits, pointer
from .loop_options import Render
from .member import id_in
from .pose import Pose, PoseLike, as_pose
from .tissue import Tissue
from .tool import Tool


class ServoFlag(IntFlag):
    """Properties of a wrench, or of the newest answer."""

    LIMITED = 1
    """Cap, rate or radius changed the wrench."""
    FADING = 2
    """Answers are too old, or the pose is invalid: the force fades."""
    BEYOND_RADIUS = 4
    """The proxy left the radius in which the model is complete: the force may lack some contacts."""
    IS_EMBEDDED = 8
    """The tool is in tissue that was put there, which gives no force until the tool is out."""
    IS_SQUEEZED = 16
    """Tissue closed on the tool from several sides and leaves it no room."""
    IS_LATE = 32
    """The engine's time ended before the answer was done: it holds the force of the answer before."""


@dataclass(frozen=True)
class Wrench:
    """Force and torque to send to the device, scene frame.

    Attributes:
        force_n: `(3,)`, newtons.
        torque_nm: `(3,)`, about the hold point, newton metres.
        model_age_s: time since the pose was sent that the model of the force answers.
        flags: properties of the wrench and of the newest answer.
    """

    force_n: Array
    torque_nm: Array
    model_age_s: float
    flags: ServoFlag


class Device(Protocol):
    """A haptic device, for `Servo.run`."""

    def pose(self) -> PoseLike | None:
        """Waits for the device's next sample: scene frame from tool frame. None ends the loop."""

    def apply(self, wrench: Wrench) -> None:
        """Sends force and torque to the device, whose range they must be in."""


# Interval of the checks of a session in `Servo.run`, seconds.
_CHECK_S = 0.5


class Servo:
    """A tool in a hand: `Scene.servo` opens it.

    `step` belongs in one thread, the device's; the other calls may come from any. The server keeps a proxy for each
    servo and each loop, so a tool that has a servo needs no loop of its own.
    """

    def __init__(
        self, at: ServerAddress, scene_id: str, render: Tool | Render, rate_hz: float, timeout_s: float
    ) -> None:
        """Connects and opens a session; see `Scene.servo`."""
        if isinstance(render, Tool):
            render = Render(render)
        self._library = Library()
        self._server, self._scene, self._session = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        # A step waits for no other call. `close` takes both locks: nothing may be in a session that is freed.
        self._stepping, self._asking = threading.Lock(), threading.RLock()
        self._failure: PalpateError | ValueError | None = None
        tool_id = id_in(scene_id, render.tool, Tool, "render")
        hold = (0.0, 0.0, 0.0) if render.hold_point_m is None else render.hold_point_m
        options = OptionsStruct(
            size=ctypes.sizeof(OptionsStruct),
            tool_id=tool_id,
            cutting_links=link_bits(render.cutting_links),
            stiffness_n_per_m=render.stiffness_n_per_m,
            rotational_stiffness_nm_per_rad=render.rotational_stiffness_nm_per_rad,
            link_stiffness_n_per_m=render.link_stiffness_n_per_m,
            friction=render.friction,
            max_force_n=render.max_force_n,
            max_torque_nm=render.max_torque_nm,
            max_force_rate_n_per_s=render.max_force_rate_n_per_s,
            max_torque_rate_nm_per_s=render.max_torque_rate_nm_per_s,
            hold_point_m=(ctypes.c_double * 3)(*hold),
            rate_hz=rate_hz,
            force_shading_rad=render.force_shading_rad,
        )
        self._pose, self._felt = np.zeros(7), np.zeros(1, WRENCH)
        self._from, self._into = pointer(self._pose), pointer(self._felt)
        self._call = self._library.function("palpate_servo_links")
        try:
            address = at.struct(timeout_s)
            self._server = self._library.open("palpate_connect", ctypes.byref(address))
            self._library.call("palpate_open_scene", self._server, scene_id.encode(), ctypes.byref(self._scene))
            self._library.call("palpate_open_session", self._scene, ctypes.byref(options), ctypes.byref(self._session))
        except BaseException:
            self.close()
            raise

    def step(self, pose: PoseLike, dt_s: float, link_poses: Sequence[PoseLike] = ()) -> Wrench:
        """Moves the tool, and returns the wrench now. Never waits.

        Call it from the device's loop, and send the wrench every time: an error of the session or of the pose, which
        `check` raises, lets the force fade.

        Args:
            pose: scene frame from tool frame.
            dt_s: time since the last step.
            link_poses: tool frame from link frame, one for each link. Empty: all at rest.
        """
        with self._stepping:
            session = self._open()
            n_links = len(link_poses)
            rows = np.zeros((n_links, 7))
            try:
                _write(pose, self._pose)
                for link_pose, row in zip(link_poses, rows, strict=True):
                    _write(link_pose, row)
            except ValueError as error:
                # A pose that is none: the library lets the force fade.
                self._failure, self._pose[:] = error, np.nan
            links = pointer(rows) if n_links else None
            code = self._call(session, self._from, links, ctypes.c_size_t(n_links), ctypes.c_double(dt_s), self._into)
            if code != 0 and self._failure is None:
                self._failure = self._library.error("palpate_servo", code)
            felt = self._felt[0]
            return Wrench(
                felt["force_n"].copy(),
                felt["torque_nm"].copy(),
                float(felt["model_age_s"]),
                ServoFlag(int(felt["flags"])),
            )

    def run(self, device: Device) -> None:
        """Keeps the loop of a device until its pose is None. However the loop ends, the device is sent a wrench of
        zero.

        Raises:
            PalpateError: the session ended, or a pose was refused.

        A loop in Python keeps about 1 kHz if nothing else runs in Python; a device that asks for more, or that must not
        wait for the interpreter, calls `palpate_servo` of the C library.
        """
        last_s = checked_s = time.perf_counter()
        try:
            while (pose := device.pose()) is not None:
                now_s = time.perf_counter()
                device.apply(self.step(pose, now_s - last_s))
                last_s = now_s
                if now_s - checked_s > _CHECK_S:
                    checked_s = now_s
                    self.check()
        finally:
            device.apply(Wrench(np.zeros(3), np.zeros(3), 0.0, ServoFlag(0)))

    def check(self) -> None:
        """Raises what ended the session, or once, why a step had no force of its own.

        Raises:
            PalpateError: the reason.
            ValueError: a pose had another shape.
        """
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        with self._asking:
            self._library.call("palpate_check", self._open())

    @property
    def rendering(self) -> Array | None:
        """The newest answer, a structured scalar: `proxy` (a position and a quaternion x, y, z, w), at which the tool
        is drawn; `state` (a `RenderState`), `n_contacts`, `distance_m`, `sequence`. None: there is none yet.
        """
        found = np.zeros(1, RENDERING)
        with self._asking:
            code = self._library.ask("palpate_newest", self._open(), pointer(found))
        if code == NO_ANSWER:
            return None
        self._library.check("palpate_newest", code)
        row: Array = found[0]
        return row

    def contacts(self) -> Array:
        """Returns the contacts of the newest answer, whether they bear force or not: see `Batch.contacts`."""
        with self._asking:
            return self._library.rows("palpate_surface_contacts", self._open(), CONTACT)

    def loads(self, tissue: Tissue) -> tuple[Array, Array]:
        """Returns the vertices that bear the contacts of the newest answer, and their forces `(n, 3)`, newtons: a
        solver adds them to its external forces.
        """
        tissue_id = ctypes.c_uint32(tissue.id)
        capacity = 256
        while True:
            vertices, forces, n = np.zeros(capacity, np.uint32), np.zeros((capacity, 3), np.float32), ctypes.c_size_t()
            sizes = ctypes.c_size_t(capacity), ctypes.byref(n)
            with self._asking:
                code = self._library.ask(
                    "palpate_tissue_loads", self._open(), tissue_id, pointer(vertices), pointer(forces), *sizes, None
                )
            if code == NO_ANSWER:
                return vertices[:0], forces[:0]
            if n.value <= capacity:
                self._library.check("palpate_tissue_loads", code)
                return vertices[: n.value], forces[: n.value]
            capacity = n.value

    def close(self) -> None:
        """Ends the session and the connection. The device must have no force from it any more."""
        if not self._library.is_ours:
            return
        with self._stepping, self._asking:
            for function, handle in (
                ("palpate_close_session", self._session),
                ("palpate_close_scene", self._scene),
                ("palpate_close", self._server),
            ):
                self._library.ask(function, ctypes.byref(handle))

    def __enter__(self) -> Servo:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "_into"):
            self.close()

    def _open(self) -> ctypes.c_void_p:
        if not self._library.is_ours:
            raise RuntimeError("this process was forked: it cannot use what its parent opened")
        if not self._session:
            raise Closed("the servo is closed")
        return self._session


def _write(pose: PoseLike, row: Array) -> None:
    """Writes a pose as seven numbers. A position that is not finite is the library's to refuse, which still returns a
    force.
    """
    if not isinstance(pose, Pose):
        position = np.asarray(pose, np.float64)
        if position.shape == (3,):
            row[:3], row[3:] = position, (0, 0, 0, 1)
            return
        pose = as_pose(position)
    row[:3], row[3:] = pose.position_m, pose.orientation
