"""A deformable surface of a scene."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from . import answers
from .binding import rows
from .feel import Material, feel
from .packed import floats, indices
from .surface import Surface, joined_surface

if TYPE_CHECKING:
    from .scene import Scene


class Tissue:
    """A deformable surface of a scene. `id` is never used again in that scene."""

    def __init__(self, scene: Scene, id: int, name: str, report: answers.MeshReport, added: Any = None) -> None:
        """Attributes that a tissue with controls has from the answer `added`:

        binding_error_m: the farthest way of a vertex from where the mesh had it to where its controls
            at rest carry it.
        vertices_outside: vertices that are in no cell of the volume.
        outside_max_m: farthest distance of such a vertex from the cell that carries it.
        weight_min: least weight of such a vertex, below 0.
        """
        self.scene = scene
        self.id = id
        self.name = name
        self.report = report
        self.binding_error_m: float = 0.0 if added is None else added.binding_error_m
        self.vertices_outside: int = 0 if added is None else added.vertices_outside
        self.outside_max_m: float = 0.0 if added is None else added.outside_max_m
        self.weight_min: float = 0.0 if added is None else added.weight_min

    def deform(
        self,
        positions_m: npt.ArrayLike | None = None,
        *,
        vertices: npt.ArrayLike | None = None,
        controls: npt.ArrayLike | None = None,
        control_ids: npt.ArrayLike | None = None,
        hold: bool = False,
    ) -> answers.DeformResponse:
        """Moves all vertices, or those named, or the controls that carry them, and waits until
        ticks can see the deformation: a round trip. `Scene.deformations` does not wait.

        Args:
            positions_m: `(n, 3)`, scene frame, of all vertices in stored order, or of those in
                `vertices`.
            vertices: `(n,)`. Send only the moved vertices: they determine the cost.
            controls: of a tissue with a binding, instead of positions: `(n, 3)` or `(n, 7)` as in
                `Binding`, of all controls, or of those in `control_ids`.
            hold: keep this revision for `Scene.self_collisions`.

        Raises:
            Refused: nothing was moved.
        """
        with self.scene.idle_deformations() as stream:
            sent = stream.send(
                self, positions_m, vertices=vertices, controls=controls, control_ids=control_ids, hold=hold
            )
            return sent.result()

    def edit_topology(
        self,
        removed_triangles: npt.ArrayLike,
        added_positions_m: npt.ArrayLike = (),
        added_triangles: npt.ArrayLike = (),
        *,
        parents: npt.ArrayLike = (),
        added_controls: npt.ArrayLike = (),
        added_weights: npt.ArrayLike = (),
        base_topology_revision: int | None = None,
    ) -> answers.EditTopologyResponse:
        """Cuts: removes triangles, adds vertices and triangles, in one transaction.

        Args:
            added_positions_m: `(n, 3)`. The first has the tissue's number of vertices as its id,
                and so on.
            added_triangles: `(m, 3)`, of old and new vertices.
            parents: `(m,)`: for each added triangle the removed triangle that it replaces in part,
                so that contacts keep their ids. Empty: none.
            added_controls, added_weights: `(n, k)`, of a tissue with a binding: what carries each
                new vertex, as in `Binding`. Empty: the parent of a triangle that has the vertex.
            base_topology_revision: topology revision that the cut was made for. None: any.

        Raises:
            FailedPrecondition: the tissue was cut since.
        """
        counts, ids, weights = rows(added_controls, added_weights, "added_controls", "added_weights")
        raw = self._ask(
            "EditTopology",
            base_topology_revision=base_topology_revision,
            removed_triangles=indices(removed_triangles, "removed_triangles").tolist(),
            added_positions_m=floats(added_positions_m, "added_positions_m").ravel().tolist(),
            added_triangles=indices(added_triangles, "added_triangles", 3).ravel().tolist(),
            added_triangle_parents=indices(parents, "parents").tolist(),
            added_weights_per_vertex=[int(n) for n in counts],
            added_controls=ids.tolist(),
            added_weights=weights.tolist(),
        )
        return answers.EditTopologyResponse(raw)

    def cut_along(
        self,
        path_m: npt.ArrayLike,
        *,
        width_m: float = 0.0,
        depth_m: float = 0.0,
        base_topology_revision: int | None = None,
    ) -> answers.EditTopologyResponse:
        """Makes an incision along a line on the surface.

        The server splits the triangles under the line, doubles the vertices along it and moves the lips apart. The ends
        of the line hold them together, unless an end is on an open edge. `left_vertices` and `right_vertices` of the
        answer's `incision` are those of the two lips, opposite each other: a solver pulls there.

        Args:
            path_m: `(n, 3)`, at least two points, each at most 10 mm from the surface. The first point again at the end
                cuts a patch out.
            width_m: greatest width of the gap. The surface within two widths of the line gives way to the lips:
                `replacing_vertices` take the places of `replaced_vertices` there. 0: the lips touch, and only the
                vertices on the line are new, for a solver that pulls them apart itself.
            depth_m: depth of the gap, in a closed surface, which stays closed. 0: the surface alone is cut.
            base_topology_revision: topology revision that the line was drawn on. None: any.

        Raises:
            InvalidArgument: there is no such line on the surface, or it comes out on the other side.
            FailedPrecondition: the tissue was cut since.
        """
        line = {"path_m": floats(path_m, "path_m").ravel().tolist(), "width_m": width_m, "depth_m": depth_m}
        raw = self._ask("EditTopology", base_topology_revision=base_topology_revision, incision=line)
        return answers.EditTopologyResponse(raw)

    def set_feel(
        self,
        materials: Material | Sequence[Material],
        triangle_materials: npt.ArrayLike | None = None,
    ) -> answers.SetFeelResponse:
        """Sets what the tissue feels like to rendered tools, in place of any materials before.

        Where two materials meet, the force changes over the width of a triangle. The surface does
        not give way: it is where `deform` says.

        Args:
            materials: one, or a table of at most 256. Empty: the tissue is rigid again.
            triangle_materials: `(n,)`, an index into the table for each triangle id, removed ones
                included. None: each triangle has the first.

        Raises:
            InvalidArgument: a number is out of its range, or there is not one for each triangle.
        """
        return answers.SetFeelResponse(self._ask("SetFeel", feel=feel(materials, triangle_materials)))

    def export(self) -> Surface:
        """Returns the current surface."""
        first, *parts = self.scene.server.exchange("ExportTissue", self.scene.id, tissue_id=self.id)
        header, chunks = first.header, [part.chunk for part in parts]
        return joined_surface(chunks, header.geometry_revision, header.topology_revision)

    def hold(self) -> answers.HoldTissueResponse:
        """Holds the newest revision for `Scene.self_collisions`."""
        return answers.HoldTissueResponse(self._ask("HoldTissue"))

    def remove(self) -> None:
        """Removes the tissue. Ticks no longer see it."""
        self._ask("RemoveTissue")

    def _ask(self, call: str, **fields: Any) -> Any:
        return self.scene.server.ask(call, scene_id=self.scene.id, tissue_id=self.id, **fields)

    def __repr__(self) -> str:
        return f"Tissue({self.id}, {self.name!r})"


@dataclass(frozen=True)
class Motion:
    """The two revisions between which a tissue moves. Each is held or the newest.

    Attributes:
        from_geometry_revision: None: the tissue stands still.
        to_geometry_revision: None: the newest.
    """

    tissue: Tissue
    from_geometry_revision: int | None = None
    to_geometry_revision: int | None = None
