"""A scene: tissues and tools that can meet."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from threading import Event, Thread
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

import numpy.typing as npt

from . import answers, packed
from .binding import Binding, BindingUpload, VolumeUpload
from .contract import message
from .deformations import Deformations
from .errors import MeshWarning, PalpateError
from .haptic_loop import HapticLoop
from .loop_options import Render, Report
from .member import id_in
from .mesh import Link, MeshLike, MeshUpload, Probe, links_of
from .pose import PoseLike, pose_message, vector_message
from .servo import Servo
from .tissue import Motion, Tissue
from .tool import Tool
from .tool_pose import tool_pose

if TYPE_CHECKING:
    from .server import Server


# Interval between two queries of a field's progress, in seconds.
_BETWEEN_LOOKS_S = 0.5
_DISTANCES = message("QueryDistancesRequest")
_POINTS = _DISTANCES.DESCRIPTOR.fields_by_name["points_xyz_m"].number


@dataclass(frozen=True)
class SelfCollisions:
    """Contacts between tissues, earliest first, and their total numbers."""

    contacts: answers.FeatureContacts
    totals: answers.SelfCollisionTotals


class Scene:
    """Tissues and tools that can meet. Leaving its `with` block deletes the scene."""

    def __init__(self, server: Server, id: str) -> None:
        self.server = server
        self.id = id
        # Open streams that no call uses now.
        self._idle: list[Deformations] = []

    def add_tissue(
        self,
        name: str,
        mesh: MeshLike | None = None,
        *,
        scale_to_m: float = 1.0,
        left_handed: bool = False,
        forbidden_region: bool = False,
        fill_holes_m: float = 0.0,
        weld_m: float = 0.0,
        as_wound: bool = False,
        binding: Binding | None = None,
        volume: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    ) -> Tissue:
        """Adds a deformable tissue.

        Args:
            name: unique among the scene's tissues, 1 to 64 characters.
            mesh: a file, or positions and triangles, in scene frame. None: the boundary of `volume`,
                whose vertices are the nodes, with their numbers.
            scale_to_m: metres per unit of the mesh.
            left_handed: the mesh is left-handed with z flipped, as in Unity. All else stays
                right-handed.
            forbidden_region: rendered tools stay out, and the tissue bears no load.
            fill_holes_m: each hole in a box with a diagonal of at most this length is filled,
                metres. 0: none.
            weld_m: open edges whose ends are at most this far apart are joined, metres. 0: only
                those at equal positions.
            as_wound: tissue is on the side that triangles face away from, also if a closed surface
                faces inwards: the wall of a lumen, with tissue all around it. Otherwise closed
                bodies are turned to face outwards.
            binding: what carries the vertices, such as the nodes of a solver's mesh (`bind`). The
                tissue is then moved by its controls, and its loads come back to them.
            volume: instead of a binding, the mesh of a solver at rest: nodes `(n, 3)`, metres, scene
                frame, and cells, `(m, 4)` tetrahedra or `(m, 8)` hexahedra. The server binds each
                vertex to the cell around it, or else to the nearest (`Tissue.vertices_outside`).

        Warns:
            MeshWarning: the mesh may be in another unit than `scale_to_m` says, is open, has several
                bodies, or the like: each of the report's `warnings`.

        Raises:
            Refused: the mesh is malformed or too large, or the name is in use. Nothing was added.
        """
        if binding is not None and volume is not None or mesh is None and volume is None:
            given = [n for n, a in (("mesh", mesh), ("binding", binding), ("volume", volume)) if a is not None]
            raise ValueError(f"got {given}, expected mesh or volume, and binding or volume")
        kind = "FORBIDDEN_REGION" if forbidden_region else "TISSUE"
        header: dict[str, Any] = {
            "scene_id": self.id,
            "name": name,
            "options": {
                "kind": f"TISSUE_KIND_{kind}",
                "orientation": f"SURFACE_ORIENTATION_{'AS_WOUND' if as_wound else 'AUTO'}",
            },
        }
        uploads = []
        if mesh is not None:
            uploads = [MeshUpload(mesh, scale_to_m, left_handed, fill_holes_m=fill_holes_m, weld_m=weld_m)]
            header["mesh"] = uploads[0].header
        carried: BindingUpload | VolumeUpload | None = None
        if volume is not None:
            carried = VolumeUpload(*volume)
        elif binding is not None:
            carried = BindingUpload(binding)
        if carried is not None:
            header["binding"] = carried.header

        def requests() -> Iterator[Any]:
            pieces = () if carried is None else carried.chunks()
            request = message("AddTissueRequest")
            return chain(_upload("AddTissueRequest", header, uploads), (request(binding=piece) for piece in pieces))

        [raw] = self.server.exchange("AddTissue", self.id, requests)
        _warn([name], [raw.report])
        return Tissue(self, raw.tissue_id, name, answers.MeshReport(raw.report), raw)

    def add_instrument(self, name: str, tool: Tool, link: int = 0, pose: PoseLike = (0, 0, 0)) -> Tissue:
        """Adds a link of a tool as a body that other tools meet: the instrument in the other hand.

        Loops that have this tool leave the body out. Whoever moves the instrument moves the body by
        `Tissue.deform(controls=)` with one frame, the pose of the link; its load is the force and
        torque on that instrument.

        Args:
            name: unique among the scene's tissues, 1 to 64 characters.
            pose: scene frame from link frame.

        Raises:
            Refused: nothing was added.
        """
        raw = self.server.ask(
            "AddInstrument", scene_id=self.id, name=name, tool_id=tool.id, link=link, pose=pose_message(pose)
        )
        return Tissue(self, raw.tissue_id, name, tool.reports[link])

    def add_tool(
        self,
        name: str,
        mesh: MeshLike | Sequence[Link],
        *,
        scale_to_m: float = 1.0,
        left_handed: bool = False,
        fill_holes_m: float = 0.0,
        weld_m: float = 0.0,
        probes: Sequence[Probe] = (),
        progress: Callable[[answers.FieldBuild], None] | None = None,
    ) -> Tool:
        """Adds a rigid instrument.

        Args:
            name: unique among the scene's tools, 1 to 64 characters.
            mesh: the mesh of an instrument with one link, in tool frame; or a list of links.
            scale_to_m, left_handed, fill_holes_m, weld_m: as in `Link`, if `mesh` is not a list.
            progress: called every half second, on a thread of its own, while the server builds the
                fields.

        Warns:
            MeshWarning: each of the `warnings` of the links' reports, as in `add_tissue`.

        Raises:
            Refused: nothing was added.
        """
        links = links_of(name, mesh, scale_to_m, left_handed, fill_holes_m, weld_m)
        uploads = [
            MeshUpload(link.mesh, link.scale_to_m, link.left_handed, number, link.fill_holes_m, link.weld_m)
            for number, link in enumerate(links)
        ]
        link_headers = [
            {
                "name": link.name,
                "mesh": upload.header,
                "rest_pose": None if link.rest_pose is None else pose_message(link.rest_pose),
                "field": {"tolerance_m": link.tolerance_m},
            }
            for link, upload in zip(links, uploads, strict=True)
        ]
        header = {
            "scene_id": self.id,
            "name": name,
            "links": link_headers,
            "probes": [
                {
                    "name": probe.name,
                    "link": probe.link,
                    "position_m": vector_message(probe.position_m, "position_m"),
                    "radius_m": probe.radius_m,
                }
                for probe in probes
            ],
        }
        with self._told(name, progress):
            [raw] = self.server.exchange("AddTool", self.id, lambda: _upload("AddToolRequest", header, uploads))
        _warn([link.name for link in links], raw.reports)
        reports = [answers.MeshReport(report) for report in raw.reports]
        return Tool(self, raw.tool_id, name, reports, [answers.FieldReport(f) for f in raw.fields])

    @contextmanager
    def _told(self, tool: str, progress: Callable[[answers.FieldBuild], None] | None) -> Iterator[None]:
        """Reports the progress of a tool's fields, until the end of the block."""
        if progress is None:
            yield
            return
        ended = Event()

        def look() -> None:
            while not ended.wait(_BETWEEN_LOOKS_S):
                # The upload reports an error of its own, or continues.
                with suppress(PalpateError):
                    for build in self.describe().field_builds:
                        if build.tool == tool and not ended.is_set():
                            progress(build)

        looking = Thread(target=look, name="palpate-progress", daemon=True)
        looking.start()
        try:
            yield
        finally:
            ended.set()
            looking.join()

    def describe(self) -> answers.Scene:
        """Returns the contents of the scene now."""
        return answers.Scene(self.server.ask("GetScene", scene_id=self.id).scene)

    def tissues(self) -> dict[str, Tissue]:
        """Returns the tissues of the scene, by name."""
        found = self.describe().tissues
        return {t.name: Tissue(self, t.tissue_id, t.name, t.report) for t in found}

    def tools(self) -> dict[str, Tool]:
        """Returns the tools of the scene, by name."""
        found = self.describe().tools
        return {t.name: Tool(self, t.tool_id, t.name, [link.report for link in t.links], []) for t in found}

    def delete(self) -> None:
        """Deletes the scene. Loops in it end with NotFound."""
        while self._idle:
            self._idle.pop().close()
        self.server.ask("DeleteScene", scene_id=self.id)

    def move(self, to_address: str, *, take_over: bool = False) -> None:
        """Hands the scene over to the server at an address, as that server gives it
        (`cluster.address`), if servers share scenes. Its loops continue there, with new sessions.

        Args:
            take_over: the server at the address takes the scene from an owner that hangs, without
                asking it; needs an admin's key. It waits for the owner's lease to end. Deformations
                that were not on the disk are lost.

        Raises:
            FailedPrecondition: servers do not share the scene.
            PermissionDenied: `take_over` without an admin's key.
            Unavailable: the scene did not move, or the answer was lost: `describe` is answered by
                its owner.
        """
        if take_over:
            owners = self.server.owners
            owners.go(self.id, owners.of(self.id), to_address)
        self.server.ask("MoveScene", scene_id=self.id, to_address=to_address, take_over=take_over)

    def deformations(self, in_flight_max: int = 8) -> Deformations:
        """Opens a stream of deformations that does not wait for each answer."""
        return Deformations(self.server, self.id, in_flight_max)

    @contextmanager
    def idle_deformations(self) -> Iterator[Deformations]:
        """Lends a stream to one call alone, so that no other call's refusal ends it. The next call
        reuses the stream: there are as many streams as simultaneous calls, not one for each tissue.
        """
        # `pop` alone tests for a stream: another thread may take the last one.
        try:
            stream = self._idle.pop()
        except IndexError:
            stream = self.deformations()
        try:
            yield stream
        finally:
            self._idle.append(stream)

    def track(
        self,
        tools: Sequence[Tool],
        *,
        render: Sequence[Tool | Render] = (),
        report: Report | None = None,
        mode: Literal["latest", "every"] = "latest",
        deadline_us: int = 0,
        on_answer: Callable[[answers.TrackResponse], None] | None = None,
        reconnect_s: float = 10.0,
    ) -> HapticLoop:
        """Opens a haptic loop, on a thread of its own.

        Args:
            tools: tools that the ticks pose, each once.
            render: tools that a hand holds: each answer has a `Rendering` of them, in this order.
            mode: `latest` answers the newest tick if ticks arrive faster than they are answered,
                `every` answers each.
            deadline_us: a tick answers with the results found after this time. 0: after the
                server's own.
            on_answer: called with each answer, on the loop's thread. An exception from it ends the
                loop.
            reconnect_s: time that a loop which lost its server tries to reconnect. The server keeps
                a session for 10 s.

        Raises:
            Refused: the scene or a tool is unknown, or an option is out of range.
        """
        return HapticLoop(self.server, self.id, tools, render, report, mode, deadline_us, on_answer, reconnect_s)

    def servo(self, render: Tool | Render, *, rate_hz: float = 0.0, timeout_s: float = 10.0) -> Servo:
        """Opens a servo for a tool in a hand: see `Servo`. Needs the C library, which the wheel has.

        Args:
            render: the tool, with the options of its spring. `tissue_loads`, `device_distances` and `local_model` have
                no effect: a servo has what it needs.
            rate_hz: rate at which poses are sent to the server, 1 to 1,000. 0: 1,000.
            timeout_s: timeout of the connection.

        Raises:
            NotStarted: there is no library, or it is of another version.
            Refused: the scene or the tool is unknown, or an option is out of range.
            Unavailable: no server answers.
        """
        return Servo(self.server.owners.address, self.id, render, rate_hz, timeout_s)

    def query_distances(
        self,
        points_m: npt.ArrayLike,
        target: None | Tissue | tuple[Tool, int, PoseLike] = None,
        *,
        max_distance_m: float = 0.0,
    ) -> answers.QueryDistancesResponse:
        """Signed distances of up to 65,536 points, negative inside.

        Args:
            points_m: `(n, 3)`, scene frame.
            target: a tissue, a link of a tool at a pose of the tool, or None: the nearest of all
                tissues.
            max_distance_m: beyond this distance the answer gives only a lower bound. 0: no limit.
        """
        fields: dict[str, Any] = {"all_tissues": True}
        if isinstance(target, Tissue):
            fields = {"tissue_id": id_in(self.id, target, Tissue, "target")}
        elif target is not None:
            tool, link, pose = target
            fields = {"link": {"link": link, "tool": tool_pose(id_in(self.id, tool, Tool, "target"), pose)}}
        request = _DISTANCES(scene_id=self.id, max_distance_m=max_distance_m, **fields)
        points = packed.array(_POINTS, packed.doubles(points_m, "points_m"))
        encoded = b"".join([request.SerializeToString(), *points])
        raw = self.server.ask_encoded("QueryDistances", encoded, self.id)
        return answers.QueryDistancesResponse(raw)

    def query_contacts(
        self,
        tool: Tool,
        pose: PoseLike,
        *,
        link_poses: Sequence[PoseLike] = (),
        report: Report | None = None,
    ) -> answers.QueryContactsResponse:
        """Returns the answer of a first tick: no sweep, no persistent ids."""
        raw = self.server.ask(
            "QueryContacts",
            scene_id=self.id,
            tool=tool_pose(id_in(self.id, tool, Tool, "tool"), pose, link_poses),
            report=(report or Report()).message(),
        )
        return answers.QueryContactsResponse(raw)

    def self_collisions(
        self,
        motions: Sequence[Tissue | Motion],
        *,
        thickness_m: float = 0.0,
        within_each: bool = False,
        max_contacts: int = 0,
    ) -> SelfCollisions:
        """Detects contacts of tissues with themselves and each other in the motion from one
        revision to another.

        Args:
            motions: each tissue once. A `Tissue` alone stands still.
            thickness_m: distance within which features are in contact.
            within_each: test each tissue against itself only.
            max_contacts: number of contacts given, earliest first; the rest are counted. 0: 4,096.

        Raises:
            FailedPrecondition: a revision is neither held nor the newest, or from before a cut.
        """
        intervals = [
            {
                "tissue_id": id_in(self.id, motion.tissue, Tissue, "motions"),
                "from_geometry_revision": motion.from_geometry_revision,
                "to_geometry_revision": motion.to_geometry_revision,
            }
            for motion in (m if isinstance(m, Motion) else Motion(m) for m in motions)
        ]
        contacts, totals = message("FeatureContacts")(), message("SelfCollisionTotals")()
        for part in self.server.exchange(
            "DetectSelfCollisions",
            self.id,
            tissues=intervals,
            thickness_m=thickness_m,
            scope="COLLISION_SCOPE_WITHIN_EACH" if within_each else "COLLISION_SCOPE_ALL",
            max_contacts=max_contacts,
        ):
            # Parallel arrays: merging messages appends them.
            (contacts if part.WhichOneof("message") == "contacts" else totals).MergeFrom(
                getattr(part, part.WhichOneof("message"))
            )
        return SelfCollisions(answers.FeatureContacts(contacts), answers.SelfCollisionTotals(totals))

    def __enter__(self) -> Scene:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self.delete()
        except PalpateError:
            # The earlier error is more useful: a server that is gone no longer has the scene.
            if error is None:
                raise

    def __repr__(self) -> str:
        return f"Scene({self.id!r})"


def _warn(names: Iterable[str], reports: Iterable[Any]) -> None:
    for name, report in zip(names, reports, strict=True):
        for warning in report.warnings:
            # stacklevel points to the line that adds the mesh.
            warnings.warn(f"the mesh of {name!r} {warning}", MeshWarning, stacklevel=3)


def _upload(name: str, header: dict[str, Any], meshes: Sequence[MeshUpload]) -> Iterator[Any]:
    request = message(name)
    # The header comes first: it states the size, so that the server can refuse before it receives any of the mesh. It
    # is made here, not on the sending thread, so that a wrong argument raises its own error.
    first = request(header=header)
    return chain([first], (request(chunk=chunk) for mesh in meshes for chunk in mesh.chunks()))
