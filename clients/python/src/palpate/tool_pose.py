"""Poses of a tool and its links."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .contract import message
from .pose import PoseLike, pose_message

_TOOL_POSE = message("ToolPose")


@dataclass(frozen=True)
class ToolPose:
    """Pose of a tool with its links, for ticks that need more than a pose.

    Attributes:
        pose: maps tool frame to scene frame.
        link_poses: maps each link's frame to tool frame. Empty: all at rest.
        teleport: the tool was placed here: nothing is swept between the last pose and this one.
    """

    pose: PoseLike
    link_poses: Sequence[PoseLike] = ()
    teleport: bool = False


def tool_pose(tool_id: int, pose: PoseLike, link_poses: Sequence[PoseLike] = (), teleport: bool = False) -> Any:
    """Converts to the contract's message."""
    return _TOOL_POSE(
        tool_id=tool_id,
        pose=pose_message(pose),
        link_poses=[pose_message(link) for link in link_poses],
        teleport=teleport,
    )
