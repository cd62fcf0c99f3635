"""A controller for SOFA: a solver's nodes move a tissue, whose loads come back as forces on the nodes.

Runs in SOFA's Python, with SofaPython3. See clients/guides/sofa.md for a whole scene.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt
import Sofa  # type: ignore[import-not-found,import-untyped,unused-ignore]

from . import answers
from .errors import Unavailable
from .haptic_loop import HapticLoop
from .loop_options import Render
from .mesh import MeshLike
from .pose import Pose, PoseLike, as_pose
from .server import connect
from .servo import Device, Servo, Wrench

# Age of an answer from which its loads are not applied, seconds: a force without answers begins to fade then.
_AGE_MAX_S = 0.05


class Palpation(Sofa.Core.Controller):  # type: ignore[misc]
    """Moves a tissue of a Palpate scene as SOFA moves an organ, and loads the organ as the instrument presses it.

    Attributes, after SOFA's initialisation:
        scene, tissue, tool: Palpate's objects.
        loop: without a device; `loop.answer` has contacts, distances and the force on the hand.
        servo: with a device; `servo.contacts()`, `servo.rendering`.
    """

    def __init__(
        self,
        *,
        nodes: Any,
        elements: npt.ArrayLike,
        force_field: Any,
        frame: Any,
        instrument: MeshLike,
        address: str = "127.0.0.1:7447",
        scene: str = "sofa",
        render: Mapping[str, Any] | None = None,
        lock_step: bool = False,
        device: Device | None = None,
        name: str = "palpation",
    ) -> None:
        """Keeps the objects: SOFA has no positions yet.

        Args:
            nodes: the organ's MechanicalObject (Vec3), in metres.
            elements: `(m, 4)` tetrahedra, `(m, 8)` hexahedra or `(m, 3)` triangles of the nodes.
            force_field: a ConstantForceField beside it, with an index and a force for each node.
            frame: the instrument's MechanicalObject (Rigid3).
            instrument: its mesh, in that frame.
            address, scene: the server, and the scene there, which is made anew.
            render: options of `palpate.Render`, such as `stiffness_n_per_m`.
            lock_step: each step waits for its answer, with the loads of its own positions.
            device: a haptic device, whose loop runs in a thread at its own rate. `frame` then follows it. Needs the C
                library, as `Scene.servo` does.

        Raises:
            ValueError: `lock_step` and `device` are both given.
        """
        if lock_step and device is not None:
            raise ValueError("lock_step and device are both given: a device does not wait for SOFA's steps")
        super().__init__(name=name)
        self.nodes, self.elements, self.force_field = nodes, elements, force_field
        self.frame, self.instrument = frame, instrument
        self._address, self._scene_id = address, scene
        self._render, self._lock_step = dict(render or {}), lock_step
        self._device = None if device is None else _Watched(device)
        self._answer: answers.TrackResponse | None = None
        self._sent: Future[answers.DeformResponse] | None = None

    def onSimulationInitDoneEvent(self, _: Any) -> None:
        """Makes the scene. Before SOFA's initialisation a MechanicalObject has one position."""
        self.server = connect(self._address)
        self.scene = self.server.create_scene(self._scene_id, replace=True)
        self.tissue = self.scene.add_tissue("organ", (self.nodes.position.array(), self.elements))
        self.tool = self.scene.add_tool("instrument", self.instrument)
        render = Render(self.tool, tissue_loads=True, **self._render)
        self._moved = self.scene.deformations()
        if self._device is None:
            self.loop: HapticLoop = self.scene.track([self.tool], render=[render])
        else:
            self.servo: Servo = self.scene.servo(render)
            self._hand = threading.Thread(
                target=self._device.run, args=(self.servo,), name="palpate device", daemon=True
            )
            self._hand.start()

    def onAnimateBeginEvent(self, _: Any) -> None:
        """Before a step: sets the loads of the newest answer; none if it is old."""
        forces = np.zeros((len(self.nodes.position), 3))
        for vertices, forces_n in self._loads():
            forces[vertices] += forces_n
        with self.force_field.forces.writeable() as into:
            into[:] = forces
        at = None if self._device is None else self._device.at
        if at is not None:
            with self.frame.position.writeable() as into:
                into[0] = (*at.position_m, *at.orientation)

    def _loads(self) -> Iterator[tuple[Any, Any]]:
        if self._device is not None:
            if time.monotonic() - self._device.felt_s < _AGE_MAX_S:
                yield self.servo.loads(self.tissue)
            return
        answer = self._answer if self._lock_step else self.loop.answer
        if answer is not None and (self._lock_step or self.loop.age_s < _AGE_MAX_S):
            for load in answer.renderings[0].tissue_loads:
                if load.tissue_id == self.tissue.id:
                    yield load.vertex_ids, load.force_xyz_n

    def onAnimateEndEvent(self, _: Any) -> None:
        """After a step: sends the positions of the organ, and of the instrument if there is no device."""
        if self._lock_step:
            self.tissue.deform(self.nodes.position.array())
            self._answer = self.loop.tick(self._frame_pose())
            return
        # A refused deformation, as of a solver that diverged, is an error of this event. Streams reconnect by
        # themselves.
        if self._sent is not None and self._sent.done():
            with suppress(Unavailable):
                self._sent.result()
        self._sent = self._moved.send(self.tissue, self.nodes.position.array())
        if self._device is None:
            self.loop.send(self._frame_pose())
        elif self._device.failure is not None:
            raise self._device.failure

    def _frame_pose(self) -> Pose:
        x_y_z_quaternion = self.frame.position.array()[0]
        return Pose(x_y_z_quaternion[:3], x_y_z_quaternion[3:])

    def close(self) -> None:
        """Ends the loop, deletes the scene and closes the connection.

        A device is sent a wrench of zero once its `pose` has returned.
        """
        if self._device is None:
            self.loop.close()
        else:
            self._device.is_over = True
            # A device that is silent does not return from its call; a servo that is closed gives it no force.
            self._hand.join(timeout=1.0)
            self.servo.close()
        self.scene.delete()
        self.server.close()


class _Watched:
    """A device of which SOFA's thread sees the pose, and how old the force's answer is."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self.at: Pose | None = None
        # Time of the pose whose answer gave the newest force.
        self.felt_s = -math.inf
        self.failure: BaseException | None = None
        self.is_over = False

    def run(self, servo: Servo) -> None:
        """Keeps the device's loop until it is over or fails."""
        try:
            servo.run(self)
        except BaseException as failure:
            self.failure = failure
        finally:
            self.felt_s = -math.inf

    def pose(self) -> PoseLike | None:
        given = None if self.is_over else self._device.pose()
        self.at = None if given is None else as_pose(given)
        return self.at

    def apply(self, wrench: Wrench) -> None:
        self._device.apply(wrench)
        self.felt_s = time.monotonic() - wrench.model_age_s
