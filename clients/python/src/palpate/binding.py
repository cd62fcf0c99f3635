"""Bindings: what carries the vertices of a tissue, such as the nodes of a solver's volume mesh."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .contract import message
from .mesh import MeshLike, content_of
from .packed import doubles, floats, indices

# A chunk may have 1 MiB; a weight with its control takes at most 13 bytes.
_CHUNK = 1 << 15
# The six tetrahedra of a hexahedron about its diagonal from corner 0 to corner 6.
_SIX = [[0, 1, 2, 6], [0, 2, 3, 6], [0, 3, 7, 6], [0, 7, 4, 6], [0, 4, 5, 6], [0, 5, 1, 6]]
# Weights below this, relative to 1, are rounding: a vertex in a face of a cell is not carried by the opposite corner.
_ROUNDING = 1e-9
# Vertices that are compared with all cells of a boundary at a time.
_VERTICES_AT_A_TIME = 256


@dataclass(frozen=True)
class Binding:
    """Controls of the vertices of a tissue: each vertex is at the weighted sum of its controls.

    Attributes:
        controls: at rest, metres, scene frame: `(n, 3)` points, or `(n, 7)` frames, each a position
            and a quaternion x, y, z, w. A frame carries a vertex rigidly from where it is at rest;
            one frame alone moves a rigid body.
        ids: `(v, k)`: controls of each vertex, in the order of the mesh.
        weights: `(v, k)`: the weight of each. Those of a vertex sum to 1 to within 1e-6; weights of
            0 are left out.
        outside: vertices that `bind` found in no cell.
    """

    controls: npt.ArrayLike
    ids: npt.ArrayLike
    weights: npt.ArrayLike
    outside: npt.ArrayLike = ()

    @staticmethod
    def rigid(pose: npt.ArrayLike, n_vertices: int) -> Binding:
        """Returns a binding of all vertices to one frame: a moving bone, or table.

        Args:
            pose: `(7,)`, with which the vertices are where the mesh has them.
        """
        one = np.zeros((n_vertices, 1), int), np.ones((n_vertices, 1))
        return Binding(np.reshape(pose, (1, 7)), *one)


def states(controls: npt.ArrayLike, name: str) -> npt.NDArray[np.float32]:
    """Converts points or frames to rows.

    Raises:
        ValueError: the array has another shape than `(n, 3)` or `(n, 7)`.
    """
    columns = 7 if np.shape(controls)[-1:] == (7,) else 3
    return floats(controls, name, columns)


def rows(
    ids: npt.ArrayLike, weights: npt.ArrayLike, ids_name: str, weights_name: str
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32], npt.NDArray[np.float64]]:
    """Returns the number of weights of each vertex, and the controls and weights that are not 0.

    Raises:
        ValueError: the arrays have not the same shape `(v, k)`.
    """
    if np.size(ids) == np.size(weights) == 0:
        none = np.empty(0, np.uint32)
        return none, none, np.empty(0)
    if np.ndim(ids) != 2 or np.shape(ids) != np.shape(weights):
        shapes = f"the shapes {np.shape(ids)} and {np.shape(weights)}"
        raise ValueError(f"{ids_name} and {weights_name} have {shapes}, expected (v, k) both")
    columns = np.shape(ids)[1]
    numbers = indices(ids, ids_name, columns).reshape(-1, columns)
    shares = doubles(weights, weights_name, columns).reshape(-1, columns)
    used = shares != 0
    return used.sum(axis=1).astype(np.uint32), numbers[used], shares[used]


class BindingUpload:
    """A binding to be sent: a header that declares it, then chunks."""

    def __init__(self, binding: Binding) -> None:
        """Converts the arrays.

        Raises:
            ValueError: the arrays do not fit each other.
        """
        self._rest = states(binding.controls, "binding.controls")
        self._counts, self._ids, self._weights = rows(binding.ids, binding.weights, "binding.ids", "binding.weights")
        kind = "FRAMES" if self._rest.shape[1] == 7 else "POINTS"
        self.header = message("BindingHeader")(
            kind=f"CONTROL_KIND_{kind}", controls=len(self._rest), weights=len(self._weights)
        )

    def chunks(self) -> Iterator[Any]:
        """Returns the chunks in order."""
        numbers = self._rest.ravel()
        longest = max(len(a) for a in (numbers, self._counts, self._weights))
        for at in range(0, longest, _CHUNK):
            part = slice(at, at + _CHUNK)
            yield message("BindingChunk")(
                rest=numbers[part].tolist(),
                weights_per_vertex=self._counts[part].tolist(),
                controls=self._ids[part].tolist(),
                weights=self._weights[part].tolist(),
            )


class VolumeUpload:
    """Cells to be sent, to which the server binds: a header that declares them, then chunks."""

    def __init__(self, nodes: npt.ArrayLike, cells: npt.ArrayLike) -> None:
        """Converts the arrays.

        Raises:
            ValueError: an array has another shape.
        """
        self._kind = "hexahedra" if np.shape(cells)[-1:] == (8,) else "tetrahedra"
        self._rest = floats(nodes, "nodes")
        self._corners = indices(cells, "cells", 8 if self._kind == "hexahedra" else 4)
        if not len(self._corners):
            raise ValueError("cells has no cell")
        self.header = message("BindingHeader")(
            kind="CONTROL_KIND_POINTS", controls=len(self._rest), **{self._kind: len(self._corners)}
        )

    def chunks(self) -> Iterator[Any]:
        """Returns the chunks in order."""
        numbers, corners = self._rest.ravel(), self._corners.ravel()
        for at in range(0, max(len(numbers), len(corners)), _CHUNK):
            part = slice(at, at + _CHUNK)
            yield message("BindingChunk")(rest=numbers[part].tolist(), **{self._kind: corners[part].tolist()})


def bind(surface: MeshLike, nodes: npt.ArrayLike, cells: npt.ArrayLike) -> Binding:
    """Binds each vertex of a surface to the cell of a volume mesh in which it lies.

    A vertex in no cell is bound to the cell whose faces it exceeds least, with extrapolated weights;
    `Binding.outside` names these vertices.

    Args:
        surface: positions and triangles in metres, scene frame, or an object that has them.
        nodes: `(n, 3)`, at rest, metres, scene frame.
        cells: `(m, 4)` tetrahedra, or `(m, 8)` hexahedra in VTK's order, each of which counts as
            six tetrahedra about a diagonal.

    Raises:
        ValueError: the arrays have other shapes, or no cell has a volume.
    """
    first, second = content_of(surface)
    if isinstance(second, bytes):
        raise ValueError("surface is a file, expected (positions, triangles)")
    places, at_rest = np.float64(doubles(first, "surface")), np.float64(doubles(nodes, "nodes"))
    columns = 8 if np.shape(cells)[-1:] == (8,) else 4
    corners = indices(cells, "cells", columns).astype(int)
    if columns == 8:
        corners = corners[:, _SIX].reshape(-1, 4)
    if corners.size and corners.max() >= len(at_rest):
        raise ValueError(f"cells has node {corners.max()}, expected less than {len(at_rest)}")
    tetrahedra = _Tetrahedra(at_rest, corners)
    found = tetrahedra.around(places)
    outside = np.flatnonzero(found < 0)
    found[outside] = tetrahedra.least_outside(places[outside])
    weights = tetrahedra.weights(found, places)
    weights[np.abs(weights) < _ROUNDING] = 0.0
    weights /= weights.sum(axis=1, keepdims=True)
    return Binding(at_rest, tetrahedra.corners[found], weights, outside)


class _Tetrahedra:
    """Tetrahedra with a volume, and the barycentric weights of points in them."""

    def __init__(self, nodes: npt.NDArray[np.float64], corners: npt.NDArray[np.int64]) -> None:
        edges = nodes[corners[:, 1:]] - nodes[corners[:, :1]]
        size = np.abs(edges).max(axis=(1, 2)) if len(corners) else np.empty(0)
        has_volume = np.abs(np.linalg.det(edges)) > 1e-12 * size**3
        if not has_volume.any():
            raise ValueError("cells has no cell with a volume")
        self.corners, edges = corners[has_volume], edges[has_volume]
        self._origin = nodes[self.corners[:, 0]]
        # Weights of the corners 1 to 3 are linear in the place.
        self._inverse = np.linalg.inv(edges.transpose(0, 2, 1))
        gradients = np.concatenate([-self._inverse.sum(axis=1, keepdims=True), self._inverse], axis=1)
        self._heights = 1.0 / np.linalg.norm(gradients, axis=2)
        box = nodes[self.corners]
        self._low, self._high = box.min(axis=1), box.max(axis=1)

    def weights(self, cells: npt.NDArray[np.int64], places: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Weights `(n, 4)` of places, each in its own cell."""
        of_three = np.einsum("nij,nj->ni", self._inverse[cells], places - self._origin[cells])
        return np.concatenate([1.0 - of_three.sum(axis=1, keepdims=True), of_three], axis=1)

    def around(self, places: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        """A cell that contains each place; -1: none does."""
        found = np.full(len(places), -1)
        # A grid whose cells are as large as most boxes: each box lies in a few of them.
        width = np.median(self._high - self._low, axis=0).max()
        low = self._low.min(axis=0)
        n = np.maximum(np.ceil((self._high.max(axis=0) - low) / width).astype(int), 1)
        first, last = (np.clip(((b - low) / width).astype(int), 0, n - 1) for b in (self._low, self._high))
        spans = last - first + 1
        count = spans.prod(axis=1)
        owner = np.repeat(np.arange(len(count)), count)
        rank = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        spans, first = spans[owner], first[owner]
        x, rest = np.divmod(rank, spans[:, 1] * spans[:, 2])
        y, z = np.divmod(rest, spans[:, 2])
        at = np.stack([x, y, z], axis=1) + first
        keys = np.ravel_multi_index(tuple(at.T), tuple(n))
        order = np.argsort(keys, kind="stable")
        keys, owner = keys[order], owner[order]
        inside = ((places >= low) & (places <= self._high.max(axis=0))).all(axis=1)
        unknown = np.flatnonzero(inside)
        cell = np.clip(((places[unknown] - low) / width).astype(int), 0, n - 1)
        key = np.ravel_multi_index(tuple(cell.T), tuple(n))
        next_, end = np.searchsorted(keys, key), np.searchsorted(keys, key, side="right")
        while len(unknown):
            left = next_ < end
            unknown, next_, end = unknown[left], next_[left], end[left]
            candidate = owner[next_]
            # A place in a shared face is in both cells, whatever the rounding.
            hit = self.weights(candidate, places[unknown]).min(axis=1) >= -_ROUNDING
            found[unknown[hit]] = candidate[hit]
            unknown, next_, end = unknown[~hit], next_[~hit] + 1, end[~hit]
        return found

    def least_outside(self, places: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        """The cell whose faces each place exceeds least."""
        found = np.empty(len(places), int)
        for at in range(0, len(places), _VERTICES_AT_A_TIME):
            part = places[at : at + _VERTICES_AT_A_TIME]
            away = part[:, None] - self._origin
            of_three = np.einsum("mij,nmj->nmi", self._inverse, away)
            of_first = 1.0 - of_three.sum(axis=2, keepdims=True)
            behind = -np.concatenate([of_first, of_three], axis=2) * self._heights
            found[at : at + _VERTICES_AT_A_TIME] = behind.max(axis=2).argmin(axis=1)
        return found
