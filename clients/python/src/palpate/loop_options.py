"""Options of a haptic loop: contents of its answers, and rendering of its tools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from .contract import message
from .member import id_in
from .pose import vector_message
from .tool import Tool


@dataclass(frozen=True)
class Report:
    """Contents of an answer; 0 is the server's default.

    Attributes:
        max_distance_m: beyond this distance an answer gives only a lower bound. 0: 0.05.
        contact_margin_m: a surface within this distance counts as a contact. 0: the least of 0.001,
            a quarter of the diagonal of the tools' largest link, and max_distance_m.
        max_contacts: number of contacts given for each link, deepest first; the rest are counted.
            0: 64.
        omit_contacts, omit_probes, omit_sweep: omit results that are not needed, and their cost.
        stale_after_us: a tissue whose last deformation is older than this sets `Flag.STALE`. 0:
            never.
        triangle_pairs: also report the crossing triangles of tissue and tool: the triangles that a
            blade cuts.
        link_pairs: also report the crossing triangles of two links.
        feature_pairs: also report the pairs of features (vertex and face, edge and edge) of tissue and
            tool within the margin: rows for a solver that treats contact itself.
        max_pairs: number of pairs of a kind given for each link. 0: 256.
        report_stages: also report the time that a tick spent in each stage at the server.
        link_barycentrics: also give `link_barycentric_xyz` of contacts, the weights on the link's
            triangle.
    """

    max_distance_m: float = 0.0
    contact_margin_m: float = 0.0
    max_contacts: int = 0
    omit_contacts: bool = False
    omit_probes: bool = False
    stale_after_us: int = 0
    triangle_pairs: bool = False
    link_pairs: bool = False
    feature_pairs: bool = False
    max_pairs: int = 0
    omit_sweep: bool = False
    report_stages: bool = False
    link_barycentrics: bool = False

    def message(self) -> Any:
        """Converts the options to the contract's message."""
        return message("ReportOptions")(**{f.name: getattr(self, f.name) for f in fields(self)})


@dataclass(frozen=True)
class Render:
    """Rendering options of a tool. A rendered tool has a proxy that never enters tissue; the force
    is that of the spring between proxy and device. 0 is the server's default.

    Attributes:
        tool: a tool of the loop.
        stiffness_n_per_m: stiffness of the spring. 0: 500.
        rotational_stiffness_nm_per_rad: stiffness against rotation. 0: 1.
        link_stiffness_n_per_m: stiffness of each link against its commanded pose. 0: 500.
        friction: Coulomb's coefficient, 0 to 2.
        max_force_n, max_torque_nm: largest force and torque that are ever sent. 0: 3.3 N and 0.1 N
            m.
        max_force_rate_n_per_s, max_torque_rate_nm_per_s: fastest change that is ever sent. 0: 300
            and 9.
        cutting_links: links that no tissue holds back.
        hold_point_m: point at which the device holds the tool, in tool frame. None: the origin.
        tissue_loads: also report a `TissueLoad` of each tissue, which a solver adds to its external forces.
        device_distances: also report the links' distances at the device's pose.
        local_model: also report a `LocalModel`, from which a servo at the device renders.
        force_shading_rad: greatest angle between two facets of a tissue that count as one smooth
            surface to the force, at most 1. 0: none. 0.5 suits an organ.
    """

    tool: Tool
    stiffness_n_per_m: float = 0.0
    rotational_stiffness_nm_per_rad: float = 0.0
    link_stiffness_n_per_m: float = 0.0
    friction: float = 0.0
    max_force_n: float = 0.0
    max_torque_nm: float = 0.0
    max_force_rate_n_per_s: float = 0.0
    max_torque_rate_nm_per_s: float = 0.0
    cutting_links: Sequence[int] = ()
    hold_point_m: tuple[float, float, float] | None = None
    tissue_loads: bool = False
    device_distances: bool = False
    local_model: bool = False
    force_shading_rad: float = 0.0

    def message(self, scene_id: str) -> Any:
        """Converts the options to the contract's message."""
        given = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "tool"}
        point = self.hold_point_m
        given["hold_point_m"] = None if point is None else vector_message(point, "hold_point_m")
        return message("RenderOptions")(tool_id=id_in(scene_id, self.tool, Tool, "render"), **given)
