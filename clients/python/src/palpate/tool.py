"""A rigid instrument of a scene."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import answers
from .surface import Surface, joined_surface

if TYPE_CHECKING:
    from .scene import Scene


class Tool:
    """A rigid instrument of a scene, of one or more links. `id` is never used again in that scene."""

    def __init__(
        self,
        scene: Scene,
        id: int,
        name: str,
        reports: list[answers.MeshReport],
        fields: list[answers.FieldReport],
    ) -> None:
        self.scene = scene
        self.id = id
        self.name = name
        # One entry per link. `fields` is filled after an upload and empty after a look-up.
        self.reports = reports
        self.fields = fields

    @property
    def report(self) -> answers.MeshReport:
        """Mesh report of a tool with one link.

        Raises:
            ValueError: the tool has several links: see `reports`.
        """
        if len(self.reports) != 1:
            raise ValueError(f"{self!r} has {len(self.reports)} links: each has its own in `reports`")
        return self.reports[0]

    def export(self) -> list[Surface]:
        """Returns the links' surfaces, each in its own frame."""
        first, *parts = self.scene.server.exchange("ExportTool", self.scene.id, tool_id=self.id)
        links: list[list[Any]] = [[] for _ in first.header.links]
        for part in parts:
            links[part.chunk.link].append(part.chunk)
        return [joined_surface(chunks) for chunks in links]

    def remove(self) -> None:
        """Removes the tool. Ticks that pose it are refused."""
        self.scene.server.ask("RemoveTool", scene_id=self.scene.id, tool_id=self.id)

    def __repr__(self) -> str:
        return f"Tool({self.id}, {self.name!r})"
