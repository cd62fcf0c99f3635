"""Skinned meshes of glTF files: the joints of a skeleton carry the vertices."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .binding import Binding
from .pose import quaternions, rotation_matrices

Array = npt.NDArray[np.float64]
_TYPES = {5121: "<u1", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
_COLUMNS = {"SCALAR": 1, "VEC3": 3, "VEC4": 4, "MAT4": 16}
# Largest deviation of a joint's axes from a rotation times one scale, and of that scale from the one at rest.
_SHEAR_MAX = 1e-3


@dataclass(frozen=True)
class Skin:
    """A skinned mesh at rest, and the joints that carry it.

        hand = palpate.bind_skin("hand.glb")
        tissue = scene.add_tissue("hand", hand.mesh, binding=hand.binding)
        ...
        tissue.deform(controls=hand.frames(matrices))

    Attributes:
        mesh: positions `(v, 3)` in metres and triangles `(m, 3)`, for `Scene.add_tissue`.
        binding: one frame for each joint.
        joints: their names, in the order of the frames.
        posed: matrices `(n, 4, 4)` of the joints as the file poses them, in its unit.
        scale_to_m: metres of the file's unit.
    """

    mesh: tuple[Array, npt.NDArray[np.int64]]
    binding: Binding
    joints: tuple[str, ...]
    posed: Array
    scale_to_m: float
    _scales: Array

    def frames(self, matrices: npt.ArrayLike) -> Array:
        """Returns the frames `(n, 7)` of the joints now: controls for `Tissue.deform`.

        Args:
            matrices: `(n, 4, 4)`, scene frame from joint frame, in the file's unit, as an engine
                computes them from the joints' nodes.

        Raises:
            ValueError: these are not as many matrices as joints, or one of them shears, or scales
                otherwise than at rest.
        """
        given = np.asarray(matrices, np.float64)
        if given.shape != self.posed.shape:
            raise ValueError(f"matrices has the shape {given.shape}, expected {self.posed.shape}")
        frames, scales = _frames(given, self.joints, self.scale_to_m)
        other = np.flatnonzero(np.abs(scales / self._scales - 1) > _SHEAR_MAX)
        if len(other):
            at = other[0]
            scale = f"scales by {scales[at] / self._scales[at]} of its scale at rest"
            raise ValueError(f"joint {self.joints[at]!r} {scale}, expected 1: frames are rigid")
        return frames


def bind_skin(file: str | os.PathLike[str], node: str | None = None, scale_to_m: float = 1.0) -> Skin:
    """Reads a skinned mesh of a `.glb` file, with the joints and weights of its vertices.

    Blends of joints are linear, as in glTF. Seams, where a file repeats vertices, are joined when the
    tissue is added.

    Args:
        file: path of a binary glTF file.
        node: name of the node with the mesh; unneeded if only one has a skin.
        scale_to_m: metres of the file's unit, which is the metre if it keeps to the format.

    Raises:
        ValueError: the file is not such a file, or says otherwise how the mesh is placed.
    """
    gltf = _Gltf(Path(file).read_bytes(), os.fspath(file))
    try:
        return _skin(gltf, node, scale_to_m)
    except (KeyError, IndexError, TypeError) as wrong:
        raise ValueError(f"{gltf.name} is not whole: it has no {wrong}") from wrong


def _skin(gltf: _Gltf, node: str | None, scale_to_m: float) -> Skin:
    skinned = [n for n in gltf.all("nodes") if "mesh" in n and "skin" in n]
    chosen = [n for n in skinned if node is None or n.get("name") == node]
    if len(chosen) != 1:
        found = ", ".join(repr(n.get("name", "")) for n in skinned)
        raise ValueError(f"{gltf.name} has the skinned nodes [{found}], expected one, or one of them as `node`")
    skin = gltf.all("skins")[chosen[0]["skin"]]
    joints: list[int] = skin["joints"]
    names = tuple(gltf.all("nodes")[j].get("name", f"joint {j}") for j in joints)
    given = skin.get("inverseBindMatrices")
    inverse: Array = np.tile(np.eye(4), (len(joints), 1, 1)) if given is None else gltf.matrices(given)
    rest, scales = _frames(np.asarray(np.linalg.inv(inverse[: len(joints)])), names, scale_to_m)
    positions, triangles, ids, weights = gltf.skinned(gltf.all("meshes")[chosen[0]["mesh"]])
    binding = Binding(rest, ids, weights)
    posed = gltf.placed()[joints]
    return Skin((positions * scale_to_m, triangles), binding, names, posed, scale_to_m, scales)


def _frames(matrices: Array, names: Sequence[str], scale_to_m: float) -> tuple[Array, Array]:
    """Splits matrices into frames and scales."""
    axes = matrices[:, :3, :3]
    scales = np.cbrt(np.linalg.det(axes))
    with np.errstate(all="ignore"):
        turns = axes / scales[:, None, None]
        off = np.abs(turns @ turns.transpose(0, 2, 1) - np.eye(3)).max(axis=(1, 2))
    wrong = np.flatnonzero(~((scales > 0) & (off < _SHEAR_MAX)))
    if len(wrong):
        at = wrong[0]
        raise ValueError(f"joint {names[at]!r} turns and scales by\n{axes[at]}\nexpected a rotation and one scale")
    return np.hstack([matrices[:, :3, 3] * scale_to_m, quaternions(turns)]), scales


class _Gltf:
    """A binary glTF file."""

    def __init__(self, content: bytes, name: str) -> None:
        self.name = name
        magic, version = struct.unpack_from("<4sI", content.ljust(8, b"\0"))
        if magic != b"glTF" or version != 2:
            raise ValueError(f"{name} begins with {content[:8]!r}, expected binary glTF, version 2")
        chunks: dict[bytes, bytes] = {}
        at = 12
        while at + 8 <= len(content):
            n, kind = struct.unpack_from("<I4s", content, at)
            chunks.setdefault(kind, content[at + 8 : at + 8 + n])
            at += 8 + n
        self._json = json.loads(chunks.get(b"JSON", b"{}"))
        self._data = chunks.get(b"BIN\0", b"")

    def all(self, kind: str) -> list[Any]:
        """All objects of a kind."""
        found: list[Any] = self._json.get(kind, [])
        return found

    def array(self, accessor: int) -> npt.NDArray[Any]:
        """The numbers of an accessor, in rows; normalized ones from 0 to 1."""
        about = self.all("accessors")[accessor]
        columns = _COLUMNS.get(about["type"], 0)
        if "bufferView" not in about or "sparse" in about or not columns or about["componentType"] not in _TYPES:
            raise ValueError(f"accessor {accessor} of {self.name} is compressed, sparse or of another type: {about}")
        kind = np.dtype(_TYPES[about["componentType"]])
        view = self.all("bufferViews")[about["bufferView"]]
        start = view.get("byteOffset", 0) + about.get("byteOffset", 0)
        step = view.get("byteStride", columns * kind.itemsize)
        n = about["count"]
        size = columns * kind.itemsize
        if view["buffer"] != 0 or step < size or n > 0 and start + (n - 1) * step + size > len(self._data):
            where = f"{n} items of {size} bytes from byte {start}"
            raise ValueError(f"accessor {accessor} of {self.name} has {where}, the file has {len(self._data)}")
        rows: npt.NDArray[Any] = np.ndarray((n, columns), kind, self._data, start, (step, kind.itemsize))
        if about.get("normalized"):
            rows = rows / np.iinfo(kind).max
        return rows

    def matrices(self, accessor: int) -> Array:
        """Matrices, which a file has column by column."""
        by_columns = np.asarray(self.array(accessor), np.float64).reshape(-1, 4, 4)
        matrices: Array = by_columns.transpose(0, 2, 1)
        return matrices

    def placed(self) -> Array:
        """Scene frame from the frame of each node."""
        nodes = self.all("nodes")
        parents = {child: parent for parent, node in enumerate(nodes) for child in node.get("children", [])}
        own = [_matrix_of(node) for node in nodes]

        def placed(at: int, depth: int = 0) -> Array:
            if depth > len(nodes):
                raise ValueError(f"node {at} of {self.name} is its own child")
            return placed(parents[at], depth + 1) @ own[at] if at in parents else own[at]

        return np.array([placed(at) for at in range(len(nodes))])

    def skinned(self, mesh: Any) -> tuple[Array, npt.NDArray[np.int64], npt.NDArray[np.int64], Array]:
        """Positions and triangles of all parts of a mesh, with the joints and weights of its vertices."""
        parts = []
        first = 0
        for part in mesh["primitives"]:
            attributes = part["attributes"]
            if part.get("mode", 4) != 4 or "JOINTS_0" not in attributes or "WEIGHTS_0" not in attributes:
                wrong = f"mode {part.get('mode', 4)} and attributes {sorted(attributes)}"
                raise ValueError(f"a part of {self.name} has {wrong}, expected triangles with JOINTS_0 and WEIGHTS_0")
            positions = np.float64(self.array(attributes["POSITION"]))
            sets = [k for k in range(len(attributes)) if f"JOINTS_{k}" in attributes]
            ids = np.hstack([self.array(attributes[f"JOINTS_{k}"]) for k in sets]).astype(np.int64)
            weights = np.hstack([np.float64(self.array(attributes[f"WEIGHTS_{k}"])) for k in sets])
            sums = weights.sum(axis=1, keepdims=True)
            if not (sums > 0).all():
                raise ValueError(f"vertex {first + int(np.argmin(sums))} of {self.name} has no weight")
            corners = np.arange(len(positions)) if "indices" not in part else self.array(part["indices"]).ravel()
            triangles = first + corners.astype(np.int64).reshape(-1, 3)
            parts.append((positions, triangles, ids, weights / sums))
            first += len(positions)
        widest = max(ids.shape[1] for _, _, ids, _ in parts)
        wide = [[np.pad(a, ((0, 0), (0, widest - a.shape[1]))) for a in part[2:]] for part in parts]
        positions, triangles = (np.concatenate([part[k] for part in parts]) for k in range(2))
        ids, weights = (np.concatenate([part[k] for part in wide]) for k in range(2))
        return positions, triangles, ids, weights


def _matrix_of(node: Any) -> Array:
    """Parent frame from the frame of a node."""
    if "matrix" in node:
        given: Array = np.array(node["matrix"], np.float64).reshape(4, 4).T
        return given
    matrix = np.eye(4)
    turn = np.array([node.get("rotation", [0, 0, 0, 1])], np.float64)
    matrix[:3, :3] = rotation_matrices(turn)[0] * node.get("scale", [1, 1, 1])
    matrix[:3, 3] = node.get("translation", [0, 0, 0])
    return matrix
