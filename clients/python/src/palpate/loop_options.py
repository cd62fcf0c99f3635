"""What a haptic loop answers, and how it renders its tools."""

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
    """What an answer holds; 0 is the server's default.

    Attributes:
        max_distance_m: farther than this only a lower bound is given. 0: 0.05.
        contact_margin_m: a surface this near counts as a contact. 0: the least of 0.001, a quarter of the diagonal of
            the tools' largest link, and max_distance_m.
        max_contacts: the deepest contacts that are given for each link; the rest are counted. 0: 64.
        omit_contacts, omit_probes, omit_sweep: leave out what is not needed, and its cost.
        stale_after_us: a tissue whose last deformation is older than this sets `Flag.STALE`. 0: never.
        triangle_pairs: also the triangles of tissue and tool that cross: what a blade cuts.
        link_pairs: also the triangles of two links that cross.
        max_pairs: the pairs that are given for each link. 0: 256.
        report_stages: also what a tick spent in each stage at the server.
    """

    max_distance_m: float = 0.0
    contact_margin_m: float = 0.0
    max_contacts: int = 0
    omit_contacts: bool = False
    omit_probes: bool = False
    stale_after_us: int = 0
    triangle_pairs: bool = False
    link_pairs: bool = False
    max_pairs: int = 0
    omit_sweep: bool = False
    report_stages: bool = False

    def message(self) -> Any:
        """As the contract has it."""
        return message("ReportOptions")(**{f.name: getattr(self, f.name) for f in fields(self)})


@dataclass(frozen=True)
class Render:
    """How a tool is rendered: by a proxy that never enters tissue, and the spring between it and the device. 0 is the
    server's default.

    Attributes:
        tool: one of the loop's.
        stiffness_n_per_m: of the spring. 0: 500.
        rotational_stiffness_nm_per_rad: against turning. 0: 1.
        link_stiffness_n_per_m: of each link against its commanded pose. 0: 500.
        friction: Coulomb's coefficient, 0 to 2.
        max_force_n, max_torque_nm: no greater one is ever sent. 0: 3.3 N and 0.1 N m.
        max_force_rate_n_per_s, max_torque_rate_nm_per_s: no faster change is ever sent. 0: 300 and 9.
        cutting_links: links that no tissue holds back.
        hold_point_m: where the device holds the tool, in tool frame. None: the origin.
        tissue_loads: give `TissueLoad`s: what a solver adds to its external forces.
        device_distances: give the links' distances at the device's pose too.
        local_model: give `LocalModel`s: what a servo at the device renders by.
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

    def message(self, scene_id: str) -> Any:
        """As the contract has it."""
        given = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "tool"}
        point = self.hold_point_m
        given["hold_point_m"] = None if point is None else vector_message(point, "hold_point_m")
        return message("RenderOptions")(tool_id=id_in(scene_id, self.tool, Tool, "render"), **given)
