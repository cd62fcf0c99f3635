"""Meshes to upload: files, or arrays."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Union

import numpy as np
import numpy.typing as npt

from .contract import PACKAGE, POOL, message
from .packed import floats, indices
from .pose import PoseLike
from .surface import Surface
from .volume import vtk_file

# Path of a file in a format given by its extension (OBJ, STL, PLY, OFF, VTK, VTU, VTP, MSH, GLB); or positions `(n, 3)`
# and triangles `(m, 3)`, counter-clockwise seen from outside, as two arrays or as an object of trimesh, pyvista, meshio
# or open3d; or a volume mesh, whose boundary is the surface: nodes `(n, 3)` and tetrahedra `(m, 4)` or hexahedra
# `(m, 8)`, or an object of pyvista or meshio.
MeshLike = Union[
    str,
    "os.PathLike[str]",
    tuple[npt.ArrayLike, npt.ArrayLike],
    Surface,
    "Trimesh",
    "Open3d",
    "Pyvista",
    "Meshio",
]
# Attributes of objects that have positions and triangles: of Surface, Trimesh, Open3d and Pyvista.
_ATTRIBUTES = [
    ("positions_m", "triangles"),
    ("vertices", "faces"),
    ("vertices", "triangles"),
    ("points", "regular_faces"),
]


class Trimesh(Protocol):
    """A mesh as `trimesh.Trimesh` is."""

    @property
    def vertices(self) -> Any: ...
    @property
    def faces(self) -> Any: ...


class Open3d(Protocol):
    """A mesh as `open3d.geometry.TriangleMesh` is."""

    @property
    def vertices(self) -> Any: ...
    @property
    def triangles(self) -> Any: ...


class Pyvista(Protocol):
    """A mesh as `pyvista.PolyData` is."""

    @property
    def points(self) -> Any: ...
    @property
    def regular_faces(self) -> Any: ...


class Meshio(Protocol):
    """A mesh as `meshio.Mesh` is."""

    @property
    def points(self) -> Any: ...
    @property
    def cells_dict(self) -> Any: ...


# A chunk may have 1 MiB; a triangle takes at most 3 x 5 bytes.
_CHUNK_BYTES = 1 << 19
_CHUNK_VERTICES = 1 << 15
_CHUNK_TRIANGLES = 1 << 15


@dataclass(frozen=True)
class Link:
    """A rigid part of a tool: a shaft, a jaw.

    Attributes:
        name: unique in its tool, 1 to 64 characters.
        mesh: its surface in its own frame.
        scale_to_m: metres per unit of the mesh.
        left_handed: the mesh is left-handed with z flipped, as in Unity.
        rest_pose: tool frame from link frame, used if a tick gives no link pose. None: the
            identity.
        tolerance_m: requested error of its distance field. 0: a thousandth of its diagonal.
        fill_holes_m: each hole in a box with a diagonal of at most this length is filled, metres.
            0: none.
        weld_m: open edges whose ends are at most this far apart are joined, metres. 0: only those
            at equal positions.
    """

    name: str
    mesh: MeshLike
    scale_to_m: float = 1.0
    left_handed: bool = False
    rest_pose: PoseLike | None = None
    tolerance_m: float = 0.0
    fill_holes_m: float = 0.0
    weld_m: float = 0.0


@dataclass(frozen=True)
class Probe:
    """A named sphere fixed to a link; every answer has its distance.

    Attributes:
        name: unique in its tool, 1 to 64 characters.
        position_m: centre in the link's frame.
        radius_m: the probe touches if its centre is within this distance.
        link: counted from 0 in its tool.
    """

    name: str
    position_m: tuple[float, float, float] = (0.0, 0.0, 0.0)
    radius_m: float = 0.0
    link: int = 0


def links_of(
    name: str,
    mesh: Any,
    scale_to_m: float,
    left_handed: bool = False,
    fill_holes_m: float = 0.0,
    weld_m: float = 0.0,
) -> list[Link]:
    """Returns the links of a tool: those given, or one of the name, mesh and options.

    Raises:
        TypeError: not all of them are links.
    """
    if not isinstance(mesh, (list, tuple)) or len(mesh) == 2 and not any(isinstance(one, Link) for one in mesh):
        only: Any = mesh
        return [Link(name, only, scale_to_m, left_handed, None, 0, fill_holes_m, weld_m)]
    for one in mesh:
        if not isinstance(one, Link):
            raise TypeError(f"mesh has {type(one).__name__}, expected links, a file, or (positions, triangles)")
    return list(mesh)


def content_of(mesh: Any) -> tuple[Any, Any] | tuple[str, bytes]:
    """Returns positions and triangles, or the format and the bytes of a file.

    Raises:
        OSError: the file cannot be read.
        TypeError: this is no mesh.
        ValueError: the file is of an unknown format, or the object has cells that are not read.
    """
    if isinstance(mesh, (str, os.PathLike)):
        return _format_of(mesh), Path(mesh).read_bytes()
    if isinstance(mesh, (tuple, list)) and len(mesh) == 2:
        corners = np.shape(mesh[1])[1:]
        if corners in ((4,), (8,)):
            return "VTK", vtk_file(mesh[0], {"tetra" if corners == (4,) else "hexahedron": mesh[1]})
        return mesh[0], mesh[1]
    cells = getattr(mesh, "cells_dict", None)
    if isinstance(cells, dict):
        if set(cells) == {"triangle"}:
            return mesh.points, cells["triangle"]
        return "VTK", vtk_file(mesh.points, cells)
    for points, faces in _ATTRIBUTES:
        if hasattr(mesh, points) and hasattr(mesh, faces):
            return getattr(mesh, points), getattr(mesh, faces)
    expected = "a file, (positions, triangles), or a mesh of trimesh, pyvista, meshio or open3d"
    raise TypeError(f"mesh has {type(mesh).__name__}, expected {expected}")


def _format_of(path: str | os.PathLike[str]) -> str:
    extension = Path(path).suffix.lstrip(".").upper()
    known = POOL.FindEnumTypeByName(f"{PACKAGE}.MeshFormat").values_by_name
    formats = [name.removeprefix("MESH_FORMAT_") for name in known][1:]
    if extension not in formats:
        raise ValueError(f"{os.fspath(path)} ends with {extension!r}, expected one of {', '.join(formats)}")
    return extension


class MeshUpload:
    """A mesh to be sent: a header that declares it, then chunks."""

    def __init__(
        self,
        mesh: MeshLike,
        scale_to_m: float,
        left_handed: bool,
        link: int = 0,
        fill_holes_m: float = 0.0,
        weld_m: float = 0.0,
    ) -> None:
        """Reads the file, or converts the arrays.

        Raises:
            OSError: the file cannot be read.
            ValueError: its extension names no format, or the arrays are malformed.
        """
        basis = "LEFT_HANDED" if left_handed else "RIGHT_HANDED"
        self.header = message("MeshHeader")(
            scale_to_m=scale_to_m, basis=f"MESH_BASIS_{basis}", fill_holes_m=fill_holes_m, weld_m=weld_m
        )
        self._link = link
        first, second = content_of(mesh)
        if isinstance(second, bytes):
            self._file = second
            self.header.file.format = f"MESH_FORMAT_{first}"
            self.header.file.bytes = len(second)
        else:
            self._file = b""
            self._positions = floats(first, "positions")
            self._triangles = indices(second, "triangles", 3)
            self.header.raw.vertices = len(self._positions)
            self.header.raw.triangles = len(self._triangles)

    def chunks(self) -> Iterator[Any]:
        """Returns the chunks in order."""
        chunk = message("MeshChunk")
        if self.header.WhichOneof("source") == "file":
            for at in range(0, len(self._file), _CHUNK_BYTES):
                yield chunk(link=self._link, file=self._file[at : at + _CHUNK_BYTES])
            return
        for at in range(0, len(self._positions), _CHUNK_VERTICES):
            part = self._positions[at : at + _CHUNK_VERTICES]
            yield chunk(link=self._link, positions=part.ravel().tolist())
        for at in range(0, len(self._triangles), _CHUNK_TRIANGLES):
            rows = self._triangles[at : at + _CHUNK_TRIANGLES]
            yield chunk(link=self._link, triangles=rows.ravel().tolist())
