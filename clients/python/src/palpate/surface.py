"""A surface as stored by the server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Surface:
    """A surface as stored by the server. Barycentric weights follow the order of the vertices in
    `triangles`.

    Attributes:
        positions_m: `(n, 3)`; scene frame for a tissue, link frame for a tool.
        triangle_ids: `(m,)`, ascending: a cut leaves gaps.
        triangles: `(m, 3)`, the vertices of each triangle.
        geometry_revision, topology_revision: revisions of a tissue; a tool never changes.
    """

    positions_m: npt.NDArray[np.float32]
    triangle_ids: npt.NDArray[np.uint32]
    triangles: npt.NDArray[np.uint32]
    geometry_revision: int = 0
    topology_revision: int = 0

    def to_trimesh(self) -> Any:
        """Returns a `trimesh.Trimesh` with the same vertices and triangles."""
        import trimesh

        return trimesh.Trimesh(self.positions_m, self.triangles, process=False)

    def to_pyvista(self) -> Any:
        """Returns a `pyvista.PolyData` with the same vertices and triangles."""
        import pyvista

        faces: Any = self.triangles.astype(np.int64)
        points: Any = self.positions_m
        return pyvista.PolyData.from_regular_faces(points, faces)


def joined_surface(chunks: Sequence[Any], geometry: int = 0, topology: int = 0) -> Surface:
    """Joins the chunks of an export."""

    def joined(name: str, dtype: type) -> npt.NDArray[Any]:
        parts: list[npt.NDArray[Any]] = [np.array(getattr(chunk, name), dtype) for chunk in chunks]
        return np.concatenate(parts) if parts else np.empty(0, dtype)

    return Surface(
        joined("positions_m", np.float32).reshape(-1, 3),
        joined("triangle_ids", np.uint32),
        joined("triangles", np.uint32).reshape(-1, 3),
        geometry,
        topology,
    )
