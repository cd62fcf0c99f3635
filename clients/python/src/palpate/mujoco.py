"""Deformable bodies of MuJoCo (flexes) as tissues: positions go to the tissue, its loads come back to the bodies.

    flex = palpate.mujoco.Flex(scene, model, data, "liver")
    with scene.track([probe], render=[palpate.Render(probe, tissue_loads=True)]) as loop:
        while True:
            flex.deform()
            flex.apply(loop.tick(pose).renderings)
            mujoco.mj_step(model, data)

Needs MuJoCo 4.0 or newer. The load is explicit: it acts a step late, like a spring without damping.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt

from . import answers
from .binding import Binding
from .scene import Scene

Array = npt.NDArray[np.float64]
# Greatest error of an interpolated position as a share of the flex's size: beyond it the weights are not MuJoCo's.
_ERROR_SHARE_MAX = 1e-9


class Flex:
    """A flex of a model as a tissue of a scene.

    The tissue is the boundary of the flex's tetrahedra, or its triangles if it is a sheet. Its vertices are the
    vertices of the flex, so ids in answers are MuJoCo's.

    Attributes:
        tissue: the tissue.
        elements: `(m, 4)` tetrahedra or `(m, 3)` triangles, by vertices of this flex.
    """

    def __init__(self, scene: Scene, model: Any, data: Any, name: str = "") -> None:
        """Adds the tissue with the positions in `data`, in metres.

        Args:
            scene: scene to add it to.
            model: `mujoco.MjModel`.
            data: `mujoco.MjData` of it, after `mj_forward` or a step.
            name: name of the flex, and of the tissue. "": the only flex of the model.

        Raises:
            ValueError: there is no such flex, or it is a cable.
            Refused: the scene refuses the surface.
        """
        self._model, self._data = model, data
        flex = _flex_id(model, name)
        dimension = int(model.flex_dim[flex])
        if dimension < 2:
            raise ValueError(f"flex {name!r} has {dimension} dimension, expected a sheet or a solid")
        first, n = int(model.flex_vertadr[flex]), int(model.flex_vertnum[flex])
        self._vertices = slice(first, first + n)
        corners, elements = int(model.flex_elemdataadr[flex]), int(model.flex_elemnum[flex])
        self.elements = model.flex_elem[corners : corners + elements * (dimension + 1)].reshape(-1, dimension + 1)
        self._carriers = _Nodes(model, data, flex, self._vertices) if model.flex_interp[flex] else None
        bodies = self._carriers.bodies if self._carriers else model.flex_vertbodyid[self._vertices]
        # The world does not move.
        self._bodies = np.unique(bodies[bodies > 0])
        binding = self._carriers.binding() if self._carriers else None
        self.tissue = scene.add_tissue(name or "flex", (self.positions_m, self.elements), binding=binding)

    @property
    def positions_m(self) -> Array:
        """`(n, 3)`, of the vertices: MuJoCo's own array. A step computes it at its beginning, `mj_forward` anew."""
        positions: Array = self._data.flexvert_xpos[self._vertices]
        return positions

    def deform(self) -> None:
        """Moves the tissue to `positions_m`, and waits until ticks can see it. An interpolated flex
        sends its nodes alone.
        """
        if self._carriers is None:
            self.tissue.deform(self.positions_m)
        else:
            self.tissue.deform(controls=self._carriers.points_m())

    def loads_n(self, renderings: Iterable[answers.Rendering]) -> Array:
        """Returns the loads on the vertices, `(n, 3)`: the sum over the tools.

        Args:
            renderings: of one tick, with `tissue_loads`.
        """
        loads = np.zeros_like(self.positions_m)
        for load in self._tissue_loads(renderings):
            loads[load.vertex_ids] += load.force_xyz_n
        return loads

    def _tissue_loads(self, renderings: Iterable[answers.Rendering]) -> Iterator[answers.TissueLoad]:
        all_loads = (load for rendering in renderings for load in rendering.tissue_loads)
        return (load for load in all_loads if load.tissue_id == self.tissue.id)

    def apply(self, renderings: Iterable[answers.Rendering]) -> None:
        """Sets the loads of a tick as external forces: see `apply_loads`. `apply([])` removes them."""
        if self._carriers is None:
            self.apply_loads(self.loads_n(renderings))
            return
        forces = np.zeros((len(self._carriers.bodies), 3))
        for load in self._tissue_loads(renderings):
            forces[load.control_ids] += load.control_force_xyz_n
        self._push(self._carriers.bodies, self._carriers.points_m(), forces)

    def apply_loads(self, loads_n: npt.ArrayLike) -> None:
        """Sets loads on the vertices, `(n, 3)`, as external forces (`data.xfrc_applied`) of the flex's bodies.

        They act until the next call, and replace the forces applied to these bodies before; a body that vertices are
        pinned to is one of them. Force and moment are those of the loads.
        """
        forces = np.asarray(loads_n, np.float64)
        if forces.shape != self.positions_m.shape:
            raise ValueError(f"loads_n has the shape {forces.shape}, expected {self.positions_m.shape}")
        if self._carriers is None:
            bodies, points = self._model.flex_vertbodyid[self._vertices], self.positions_m
        else:
            bodies, points, forces = self._carriers.bodies, self._carriers.points_m(), self._carriers.loads_n(forces)
        self._push(bodies, points, forces)

    def _push(self, bodies: npt.NDArray[Any], points: Array, forces: Array) -> None:
        moments = np.cross(points - self._data.xipos[bodies], forces)
        applied = np.zeros_like(self._data.xfrc_applied)
        np.add.at(applied, bodies, np.hstack([forces, moments]))
        self._data.xfrc_applied[self._bodies] = applied[self._bodies]


class _Nodes:
    """Nodes of an interpolated flex: its vertices are fixed weighted sums of them."""

    def __init__(self, model: Any, data: Any, flex: int, vertices: slice) -> None:
        first, n = int(model.flex_nodeadr[flex]), int(model.flex_nodenum[flex])
        self.bodies = model.flex_nodebodyid[first : first + n]
        self._local_m = model.flex_node[first : first + n]
        self._data = data
        order = int(model.flex_interp[flex])
        n_cells = np.array(getattr(model, "flex_cellnum", np.ones((flex + 1, 3), int))[flex])
        self._nodes, self._weights = _lattice(np.array(model.flex_vert0[vertices]), order, n_cells)
        positions = data.flexvert_xpos[vertices]
        points = self.points_m()
        is_known = self._nodes.max() < len(points)
        if is_known:
            error = (self._weights[..., None] * points[self._nodes]).sum(axis=1) - positions
            is_known = np.abs(error).max() <= _ERROR_SHARE_MAX * np.ptp(positions, axis=0).max()
        if not is_known:
            raise ValueError(f"MuJoCo {mujoco.__version__} interpolates this flex in an unknown way")

    def points_m(self) -> Array:
        """Positions of the nodes now."""
        turns = self._data.xmat[self.bodies].reshape(-1, 3, 3)
        points: Array = self._data.xpos[self.bodies] + np.einsum("nij,nj->ni", turns, self._local_m)
        return points

    def binding(self) -> Binding:
        """The interpolation, with the nodes as they are now."""
        return Binding(self.points_m(), self._nodes, self._weights)

    def loads_n(self, loads_n: Array) -> Array:
        """Loads on the nodes: the transpose of the interpolation."""
        loads = np.zeros((len(self.bodies), 3))
        np.add.at(loads, self._nodes, self._weights[..., None] * loads_n[:, None])
        return loads


def _lattice(places: Array, order: int, n_cells: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int64], Array]:
    """Nodes and weights of each place in a unit cube of `n_cells` cells, each with `order + 1` nodes along an edge."""
    scaled = places * n_cells
    cell = np.clip(np.floor(scaled).astype(int), 0, n_cells - 1)
    within = scaled - cell
    at = np.arange(order + 1)
    # Lagrange's polynomials over equally spaced nodes: rows of weights along each axis.
    weights = np.ones((*within.shape, order + 1))
    for i, j in ((i, j) for i in at for j in at if i != j):
        weights[..., i] *= (order * within - j) / (i - j)
    along = order * cell[..., None] + at
    n_along = order * n_cells + 1
    nodes = (along[:, 0, :, None, None] * n_along[1] + along[:, 1, None, :, None]) * n_along[2] + along[
        :, 2, None, None
    ]
    products = weights[:, 0, :, None, None] * weights[:, 1, None, :, None] * weights[:, 2, None, None]
    return nodes.reshape(len(places), -1), products.reshape(len(places), -1)


def _flex_id(model: Any, name: str) -> int:
    if not name and model.nflex == 1:
        return 0
    flex = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_FLEX, name) if name else -1
    if flex < 0:
        names = [mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_FLEX, i) for i in range(model.nflex)]
        raise ValueError(f"the model has no flex {name!r}, expected one of {names}")
    return int(flex)
