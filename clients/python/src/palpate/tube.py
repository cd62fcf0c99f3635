"""Tubes about lines: sutures, catheters, rods of a solver."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .binding import Binding
from .packed import doubles
from .pose import quaternions, rotation_matrices

Array = npt.NDArray[np.float64]
# Rings between an end of the tube and its tip.
_CAP_RINGS = 3


class Tube:
    """A closed tube of round ends about a line of points, which carry it.

    At each point is a frame that turns with the line, without twist along it, and carries the
    vertices of its ring.

        suture = palpate.Tube(points, 0.0003)
        tissue = scene.add_tissue("suture", suture.mesh, binding=suture.binding)
        ...
        tissue.deform(controls=suture.frames(points))

    Attributes:
        mesh: positions `(v, 3)` and triangles `(m, 3)`, for `Scene.add_tissue`.
        binding: one frame for each point.
    """

    def __init__(self, points_m: npt.ArrayLike, radius_m: float, sides: int = 12) -> None:
        """Computes the mesh and the binding.

        Args:
            points_m: `(n, 3)`, at least two, at rest, scene frame; no two neighbours in one place.
            radius_m: of the circle on which the vertices of a ring are.
            sides: vertices of a ring, at least 3.

        Raises:
            ValueError: an argument is none of these.
        """
        points = np.array(doubles(points_m, "points_m"))
        if len(points) < 2 or not radius_m > 0 or sides < 3:
            wrong = f"points_m has {len(points)} points, radius_m is {radius_m}, sides is {sides}"
            raise ValueError(f"{wrong}; expected at least 2, above 0, at least 3")
        self._first = _any_turn(_tangents(points)[0])
        frames = self.frames(points)
        turns = rotation_matrices(frames[:, 3:])
        around = 2 * np.pi * np.arange(sides) / sides
        circle = np.stack([np.cos(around), np.sin(around), np.zeros(sides)], axis=1)
        last = len(points) - 1
        # Rings from tip to tip: the point, the radius and the place along the line of each.
        up = np.pi / 2 * np.arange(1, _CAP_RINGS + 1) / (_CAP_RINGS + 1)
        caps = [(np.cos(a), np.sin(a)) for a in up]
        rings = [(0, across, -along) for across, along in reversed(caps)]
        rings += [(at, 1.0, 0.0) for at in range(last + 1)]
        rings += [(last, across, along) for across, along in caps]
        local = np.concatenate(
            [[[0.0, 0.0, -1.0]], *(circle * across + [0, 0, along] for _, across, along in rings), [[0.0, 0.0, 1.0]]]
        )
        of = np.concatenate([[0], np.repeat([at for at, _, _ in rings], sides), [last]])
        positions = points[of] + radius_m * np.einsum("nij,nj->ni", turns[of], local)
        self.mesh: tuple[Array, npt.NDArray[np.int64]] = (positions, _sides(len(rings), sides))
        self.binding = Binding(frames, of[:, None], np.ones((len(of), 1)))

    def frames(self, points_m: npt.ArrayLike) -> Array:
        """Returns the frames `(n, 7)` of the points now: controls for `Tissue.deform`."""
        points = np.array(doubles(points_m, "points_m"))
        tangents = _tangents(points)
        # The frame of the first point at rest is turned along the line, from tangent to tangent.
        turns = [self._first]
        for turn in _least_turns(np.vstack([self._first[:, 2], tangents[:-1]]), tangents):
            turns.append(turn @ turns[-1])
        return np.hstack([points, quaternions(np.array(turns[1:]))])

    def loads_n(self, load: Any) -> Array:
        """Returns the forces `(n, 3)` of a `TissueLoad` on the points. The moments about the points, of a
        hand that pushes beside the line, are in its `control_torque_xyz_nm`.
        """
        forces = np.zeros((len(np.asarray(self.binding.controls)), 3))
        forces[load.control_ids] = load.control_force_xyz_n
        return forces


def _tangents(points: Array) -> Array:
    steps = np.diff(points, axis=0)
    lengths = np.linalg.norm(steps, axis=1, keepdims=True)
    if not (lengths > 0).all():
        at = int(np.argmin(lengths))
        raise ValueError(f"points_m[{at}] and points_m[{at + 1}] are in one place")
    steps /= lengths
    tangents = np.vstack([steps[:1], steps[:-1] + steps[1:], steps[-1:]])
    norms = np.linalg.norm(tangents, axis=1, keepdims=True)
    # Where the line turns back on itself, no direction is between the two.
    is_back = norms[:, 0] < 1e-9
    tangents[is_back], norms[is_back] = np.vstack([steps, steps[-1:]])[is_back], 1.0
    unit: Array = tangents / norms
    return unit


def _any_turn(axis: Array) -> Array:
    """A rotation whose third column is the axis."""
    other = np.eye(3)[np.abs(axis).argmin()]
    first = np.cross(other, axis)
    first /= np.linalg.norm(first)
    return np.stack([first, np.cross(axis, first), axis], axis=1)


def _least_turns(from_: Array, to: Array) -> Array:
    """The least rotations that take unit vectors `(n, 3)` to others."""
    cosine = (from_ * to).sum(axis=1)
    is_half = cosine < -1 + 1e-12
    v = np.cross(from_, to)
    turns = np.zeros((len(v), 3, 3))
    turns[:, [2, 0, 1], [1, 2, 0]], turns[:, [1, 2, 0], [2, 0, 1]] = v, -v
    turns += cosine[:, None, None] * np.eye(3)
    turns += v[:, :, None] * v[:, None, :] / (1 + np.where(is_half, 1.0, cosine))[:, None, None]
    for at in np.flatnonzero(is_half):
        around = _any_turn(from_[at])[:, 0]
        turns[at] = 2 * np.outer(around, around) - np.eye(3)
    return turns


def _sides(n_rings: int, sides: int) -> npt.NDArray[np.int64]:
    """Triangles of a tip, rings and another tip, counter-clockwise from outside."""
    here = np.arange(sides)
    on = (here + 1) % sides
    ring = 1 + sides * np.arange(n_rings - 1)[:, None]
    low = np.stack([ring + here, ring + on, ring + sides + here], axis=-1).reshape(-1, 3)
    high = np.stack([ring + on, ring + sides + on, ring + sides + here], axis=-1).reshape(-1, 3)
    first, last = 1, 1 + sides * (n_rings - 1)
    tip = np.stack([np.zeros(sides, int), first + on, first + here], axis=1)
    end = np.stack([np.full(sides, last + sides), last + here, last + on], axis=1)
    triangles: npt.NDArray[np.int64] = np.concatenate([tip, low, high, end])
    return triangles
