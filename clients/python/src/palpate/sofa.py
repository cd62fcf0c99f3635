"""A controller for SOFA: a solver's nodes move a tissue, whose loads come back as forces on the nodes.

Runs in SOFA's Python, with SofaPython3. See clients/guides/sofa.md for a whole scene.
"""

from __future__ import annotations

from collections.abc import Mapping
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
from .pose import Pose
from .server import connect

# Age of an answer from which its loads are not applied, seconds: a force without answers begins to fade then.
_AGE_MAX_S = 0.05


class Palpation(Sofa.Core.Controller):  # type: ignore[misc]
    """Moves a tissue of a Palpate scene as SOFA moves an organ, and loads the organ as the instrument presses it.

    Attributes, after SOFA's initialisation:
        scene, tissue, tool, loop: Palpate's objects. `loop.answer` has contacts, distances and the force on the hand.
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
        """
        super().__init__(name=name)
        self.nodes, self.elements, self.force_field = nodes, elements, force_field
        self.frame, self.instrument = frame, instrument
        self._address, self._scene_id = address, scene
        self._render, self._lock_step = dict(render or {}), lock_step
        self._answer: answers.TrackResponse | None = None
        self._sent: Future[answers.DeformResponse] | None = None

    def onSimulationInitDoneEvent(self, _: Any) -> None:
        """Makes the scene. Before SOFA's initialisation a MechanicalObject has one position."""
        self.server = connect(self._address)
        self.scene = self.server.create_scene(self._scene_id, replace=True)
        self.tissue = self.scene.add_tissue("organ", (self.nodes.position.array(), self.elements))
        self.tool = self.scene.add_tool("instrument", self.instrument)
        render = Render(self.tool, tissue_loads=True, **self._render)
        self.loop: HapticLoop = self.scene.track([self.tool], render=[render])
        self._moved = self.scene.deformations()

    def onAnimateBeginEvent(self, _: Any) -> None:
        """Before a step: sets the loads of the newest answer; none if it is old."""
        forces = np.zeros((len(self.nodes.position), 3))
        answer = self._answer if self._lock_step else self.loop.answer
        if answer is not None and (self._lock_step or self.loop.age_s < _AGE_MAX_S):
            for load in answer.renderings[0].tissue_loads:
                if load.tissue_id == self.tissue.id:
                    forces[load.vertex_ids] += load.force_xyz_n
        with self.force_field.forces.writeable() as into:
            into[:] = forces

    def onAnimateEndEvent(self, _: Any) -> None:
        """After a step: sends the positions of the organ and of the instrument."""
        x_y_z_quaternion = self.frame.position.array()[0]
        pose = Pose(x_y_z_quaternion[:3], x_y_z_quaternion[3:])
        if self._lock_step:
            self.tissue.deform(self.nodes.position.array())
            self._answer = self.loop.tick(pose)
        else:
            # A refused deformation, as of a solver that diverged, is an error of this event. Streams reconnect by
            # themselves.
            if self._sent is not None and self._sent.done():
                with suppress(Unavailable):
                    self._sent.result()
            self._sent = self._moved.send(self.tissue, self.nodes.position.array())
            self.loop.send(pose)

    def close(self) -> None:
        """Ends the loop, deletes the scene and closes the connection."""
        self.loop.close()
        self.scene.delete()
        self.server.close()
