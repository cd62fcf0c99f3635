"""Members of a scene: tissues and tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .tissue import Tissue
    from .tool import Tool


def id_in(scene_id: str, member: object, kind: type[Tissue] | type[Tool], argument: str) -> int:
    """Returns the id of a tissue or a tool in a scene. Ids are counted per scene: an id of another
    scene would name another member.

    Raises:
        TypeError: the argument is not of this kind.
        ValueError: the member belongs to another scene.
    """
    if not isinstance(member, kind):
        raise TypeError(f"{argument} has {member!r}, expected a palpate.{kind.__name__}")
    if member.scene.id != scene_id:
        raise ValueError(f"{argument} has {member!r} of scene {member.scene.id!r}, expected one of scene {scene_id!r}")
    return member.id
