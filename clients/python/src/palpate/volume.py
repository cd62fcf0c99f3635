"""Cells of a volume mesh as the bytes of a legacy VTK file. The server finds their boundary."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from .packed import indices

# VTK's type of a cell, by VTK's number and by meshio's name.
_TYPES: dict[Any, int] = {
    **{number: number for number in (5, 8, 9, 10, 11, 12, 13, 14)},
    "triangle": 5,
    "quad": 9,
    "tetra": 10,
    "hexahedron": 12,
    "wedge": 13,
    "pyramid": 14,
}
_CORNERS = {5: 3, 8: 4, 9: 4, 10: 4, 11: 8, 12: 8, 13: 6, 14: 5}
# Points and lines, which are no part of a surface.
_IGNORED = {1, 3, "vertex", "line"}


def vtk_file(points: npt.ArrayLike, cells: Mapping[Any, npt.ArrayLike]) -> bytes:
    """Returns an unstructured grid.

    Args:
        points: `(n, 3)`.
        cells: rows of corners for each kind of cell, by meshio's name or VTK's number.

    Raises:
        ValueError: a kind of cell is not read, or an array has another shape.
    """
    found = {name: array for name, array in cells.items() if name not in _IGNORED}
    unknown = [name for name in found if name not in _TYPES]
    if unknown:
        known = "triangles, quadrilaterals, tetrahedra, hexahedra, wedges and pyramids"
        raise ValueError(f"mesh has cells of the types {unknown}, expected {known}")
    rows: list[npt.NDArray[np.uint32]] = []
    types: list[npt.NDArray[np.uint32]] = []
    for name, array in found.items():
        kind = _TYPES[name]
        corners = indices(array, f"cells of type {name}", _CORNERS[kind])
        rows.append(np.insert(corners, 0, _CORNERS[kind], axis=1).ravel())
        types.append(np.full(len(corners), kind, np.uint32))
    positions = np.asarray(points, np.float64)
    if positions.ndim != 2 or positions.shape[1] != 3:
        raise ValueError(f"points has the shape {positions.shape}, expected (n, 3)")
    numbers, kinds = (np.concatenate(parts) if parts else np.empty(0) for parts in (rows, types))

    def section(head: str, array: npt.NDArray[Any], kind: str) -> bytes:
        return head.encode() + b"\n" + array.astype(kind).tobytes() + b"\n"

    return (
        b"# vtk DataFile Version 3.0\nvolume\nBINARY\nDATASET UNSTRUCTURED_GRID\n"
        + section(f"POINTS {len(positions)} double", positions, ">f8")
        + section(f"CELLS {len(kinds)} {len(numbers)}", numbers, ">i4")
        + section(f"CELL_TYPES {len(kinds)}", kinds, ">i4")
    )
