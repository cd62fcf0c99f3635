"""Contacts one by one, as the rows of one array, and as the derivative of their distances."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from .surface import Surface

# Parallel array of the message, name and type of one entry.
_COLUMNS: list[tuple[str, str, Any, tuple[int, ...]]] = [
    ("contact_ids", "contact_id", np.uint64, ()),
    ("states", "state", np.int32, ()),
    ("tissue_ids", "tissue_id", np.uint32, ()),
    ("triangle_ids", "triangle_id", np.uint32, ()),
    ("link_triangle_ids", "link_triangle_id", np.uint32, ()),
    ("barycentric_xyz", "barycentric", np.float32, (3,)),
    ("link_barycentric_xyz", "link_barycentric", np.float32, (3,)),
    ("on_tissue_xyz_m", "on_tissue_m", np.float32, (3,)),
    ("on_tool_xyz_m", "on_tool_m", np.float32, (3,)),
    ("normal_xyz", "normal", np.float32, (3,)),
    ("signed_distance_m", "signed_distance_m", np.float32, ()),
    ("toi", "toi", np.float32, ()),
    ("forbidden", "forbidden", np.bool_, ()),
    ("wholly_inside", "wholly_inside", np.bool_, ()),
]


class ContactList:
    """Methods of `Contacts`."""

    if TYPE_CHECKING:
        # Fields of the message.
        @property
        def contact_ids(self) -> npt.NDArray[np.uint64]: ...
        @property
        def tissue_ids(self) -> npt.NDArray[np.uint32]: ...
        @property
        def triangle_ids(self) -> npt.NDArray[np.uint32]: ...
        @property
        def barycentric_xyz(self) -> npt.NDArray[np.float32]: ...
        @property
        def normal_xyz(self) -> npt.NDArray[np.float32]: ...

    def __len__(self) -> int:
        """Number of contacts that are given; `total` counts those left out too."""
        return len(self.contact_ids)

    def __iter__(self) -> Iterator[Any]:
        """Contacts as records: `contact["normal"]`, `contact["signed_distance_m"]`."""
        return iter(self.as_structured())

    def as_structured(self) -> npt.NDArray[Any]:
        """One record per contact: `contact_id`, `state`, `tissue_id`, `triangle_id`,
        `link_triangle_id`, `barycentric`, `link_barycentric`, `on_tissue_m`, `on_tool_m`, `normal`,
        `signed_distance_m`, `toi`, `forbidden`, `wholly_inside`. A field is zero if the answer has no
        array of it.
        """
        records = np.zeros(len(self), [(name, kind, shape) for _, name, kind, shape in _COLUMNS])
        for array, name, _, _ in _COLUMNS:
            values = getattr(self, array)
            if len(values):
                records[name] = values
        return records

    def jacobian(
        self, tissue_id: int, surface: Surface
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Derivative of the signed distances by the positions of a tissue's vertices, as the arrays
        `data, indices, indptr` of a compressed sparse row matrix: one row per contact, in
        their order, three columns (x, y, z) per vertex. Rows of other tissues' contacts are empty.
        `scipy.sparse.csr_array(contacts.jacobian(tissue.id, surface), (len(contacts), 3 * n))` is
        that matrix. Its transpose times the magnitudes of the contact forces on the tool, along
        the normals, gives the forces on the vertices.

        Args:
            surface: of `Tissue.export`, since the last cut.

        Raises:
            ValueError: the surface lacks triangles of the contacts: it was cut since.
        """
        rows = np.flatnonzero(self.tissue_ids == tissue_id)
        wanted = self.triangle_ids[rows]
        places = np.searchsorted(surface.triangle_ids, wanted)
        known = np.minimum(places, max(len(surface.triangle_ids) - 1, 0))
        if len(rows) and (len(surface.triangle_ids) == 0 or (surface.triangle_ids[known] != wanted).any()):
            raise ValueError(f"the surface lacks some of the triangles {wanted.tolist()}: export the tissue again")
        vertices = surface.triangles[known].astype(np.int64) if len(rows) else np.empty((0, 3), np.int64)
        # The normal goes from the tissue to the tool: a vertex that follows it takes its weight from the distance.
        weights, normals = self.barycentric_xyz[rows].astype(np.float64), self.normal_xyz[rows].astype(np.float64)
        data = -weights[:, :, None] * normals[:, None, :]
        indices = 3 * vertices[:, :, None] + np.arange(3)
        per_row = np.where(self.tissue_ids == tissue_id, 9, 0)
        return data.ravel(), indices.ravel(), np.concatenate(([0], np.cumsum(per_row)))
