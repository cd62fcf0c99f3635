"""Many hands at a time, for learning and for sweeps over poses: the engine in this process, on all cores.

    with palpate.Batch({"organ": "organ.obj"}, "probe.obj", n=256) as batch:
        answer = batch.step(poses)          # (256, 7)
        answer.force_n                      # (256, 3)

There is no server and no network. Each hand has a proxy of its own, and with `copies` a scene of its own.
"""

from __future__ import annotations

import ctypes
import os
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .errors import Closed, MeshWarning
from .feel import Material, table
from .library import (
    CONTACT,
    DISTANCE,
    RENDERING,
    WRENCH,
    Array,
    Library,
    LinkStruct,
    MaterialStruct,
    MeshStruct,
    OptionsStruct,
    link_bits,
    pointer,
)
from .mesh import Link, MeshLike, content_of, links_of
from .packed import doubles, floats, indices
from .pose import Pose, as_pose


@dataclass(frozen=True)
class BatchAnswer:
    """The answers of a step, an entry for each hand.

    Attributes:
        wrenches: structured array `(n,)`: `force_n`, `torque_nm`, `flags`.
        renderings: structured array `(n,)`: `proxy` (a position and a quaternion x, y, z, w), `state` (a
            `RenderState`), `n_contacts`, `distance_m`.
        distances: structured array `(n, links)`, of the nearest tissue of each link at the proxy:
            `signed_distance_m`, `tissue_id`, `triangle`, `barycentric`, `on_tissue_m`, `on_tool_m`, `normal`,
            `n_contacts`.
    """

    wrenches: Array
    renderings: Array
    distances: Array

    @property
    def force_n(self) -> Array:
        """`(n, 3)`: force on each hand, scene frame."""
        return self.wrenches["force_n"]

    @property
    def torque_nm(self) -> Array:
        """`(n, 3)`: torque on each hand about its hold point."""
        return self.wrenches["torque_nm"]

    @property
    def proxy(self) -> Array:
        """`(n, 7)`: poses of the proxies, which never enter tissue."""
        return self.renderings["proxy"]

    @property
    def distance_m(self) -> Array:
        """`(n, links)`: signed distance of each link from the nearest tissue, at the proxy."""
        return self.distances["signed_distance_m"]


class Batch:
    """Many hands with equal tools, stepped together on all cores of this machine.

    Equal steps give equal answers, whatever the number of threads (RAYON_NUM_THREADS). A step cannot be interrupted:
    Ctrl-C acts when it is over. A process that was forked cannot use the batch of its parent.
    """

    def __init__(
        self,
        tissues: Mapping[str, MeshLike],
        tool: MeshLike | Sequence[Link],
        n: int,
        *,
        copies: bool = False,
        scale_to_m: float = 1.0,
        stiffness_n_per_m: float = 0.0,
        rotational_stiffness_nm_per_rad: float = 0.0,
        link_stiffness_n_per_m: float = 0.0,
        friction: float = 0.0,
        max_force_n: float = 0.0,
        max_torque_nm: float = 0.0,
        hold_point_m: Sequence[float] = (0.0, 0.0, 0.0),
        cutting_links: Sequence[int] = (),
        contact_margin_m: float = 0.0,
    ) -> None:
        """Loads the meshes, and opens `n` hands above them.

        Args:
            tissues: mesh of each tissue by its name.
            tool: mesh of a tool of one link, or links, whose meshes are arrays.
            n: number of hands.
            copies: each hand has a copy of the scene, whose tissues `deform` moves apart from the others'. Else all
                hands are in one scene.
            scale_to_m: metres per unit of all meshes but those of links, which have a scale of their own.
            stiffness_n_per_m: and the following: as in `Render`. 0: the default.
            contact_margin_m: distance within which triangles are contacts. 0: fits the tool.

        Raises:
            NotStarted: there is no library, or it is of another version.
            Refused: the library refuses a mesh or an option.
        """
        if n < 1:
            raise ValueError(f"n is {n}, expected at least 1")
        self._library = Library()
        self._sessions = (ctypes.c_void_p * n)()
        self._server = self._library.open("palpate_open_local")
        self._scenes: list[ctypes.c_void_p] = []
        try:
            first = self._scene("palpate_create_scene", self._server, b"hand-0")
            self._tissues = {name: self._add_tissue(first, name, mesh, scale_to_m) for name, mesh in tissues.items()}
            tool_id, self.n_links = self._add_tool(first, tool, scale_to_m)
            for hand in range(1, n if copies else 1):
                self._scene("palpate_copy_scene", first, b"hand-%d" % hand)
            self._options = OptionsStruct(
                size=ctypes.sizeof(OptionsStruct),
                tool_id=tool_id,
                cutting_links=link_bits(cutting_links),
                lock_step=1,
                stiffness_n_per_m=stiffness_n_per_m,
                rotational_stiffness_nm_per_rad=rotational_stiffness_nm_per_rad,
                link_stiffness_n_per_m=link_stiffness_n_per_m,
                friction=friction,
                max_force_n=max_force_n,
                max_torque_nm=max_torque_nm,
                hold_point_m=(ctypes.c_double * 3)(*hold_point_m),
                contact_margin_m=contact_margin_m,
            )
            self.reset()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Batch:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        # A batch whose constructor was refused before it had a library has nothing to close.
        if hasattr(self, "_scenes"):
            self.close()

    def __len__(self) -> int:
        """Number of hands."""
        return len(self._sessions)

    def close(self) -> None:
        """Ends all hands, and frees their scenes."""
        if not self._library.is_ours:
            return
        for hand in range(len(self)):
            self._library.ask("palpate_close_session", self._session_place(hand))
        for scene in self._scenes:
            self._library.ask("palpate_close_scene", ctypes.byref(scene))
        self._library.ask("palpate_close", ctypes.byref(self._server))

    def reset(self, hands: npt.ArrayLike | None = None) -> None:
        """Lets hands begin anew where their next poses put them: without a force, a proxy or contacts of before.

        Args:
            hands: their numbers. None: all.
        """
        for hand in self._numbers(hands):
            self._library.ask("palpate_close_session", self._session_place(hand))
            options = ctypes.byref(self._options)
            self._call("palpate_open_session", self._scene_of(hand), options, self._session_place(hand))

    def step(self, poses: npt.ArrayLike, link_poses: npt.ArrayLike | None = None, dt_s: float = 1e-3) -> BatchAnswer:
        """Moves all hands, and returns their answers.

        Args:
            poses: `(n, 7)`: a position in metres and a quaternion x, y, z, w, scene frame from tool frame.
            link_poses: `(n, links, 7)`, tool frame from link frame. None: all at rest.
            dt_s: time since the last step, in which forces may change.

        Raises:
            Refused: a pose is none, or too far away. The other hands have moved.
            ValueError: an array has another shape.
        """
        n = len(self)
        at = doubles(np.reshape(poses, (-1, 7)), "poses", 7)
        if len(at) != n:
            raise ValueError(f"poses has {len(at)} rows, expected {n}")
        links, n_links = None, 0
        if link_poses is not None:
            if np.shape(link_poses) != (n, self.n_links, 7):
                raise ValueError(f"link_poses has the shape {np.shape(link_poses)}, expected ({n}, {self.n_links}, 7)")
            links, n_links = doubles(np.reshape(link_poses, (-1, 7)), "link_poses", 7), self.n_links
        answer = BatchAnswer(np.zeros(n, WRENCH), np.zeros(n, RENDERING), np.zeros((n, self.n_links), DISTANCE))
        self._call(
            "palpate_step_many",
            self._sessions,
            ctypes.c_size_t(n),
            pointer(at),
            None if links is None else pointer(links),
            ctypes.c_size_t(n_links),
            ctypes.c_double(dt_s),
            pointer(answer.wrenches),
            pointer(answer.renderings),
            pointer(answer.distances),
            ctypes.c_size_t(self.n_links),
        )
        return answer

    def contacts(self, hand: int) -> Array:
        """Returns the contacts of a hand in its last step, whether they bear force or not, as a structured array: the
        fields of `BatchAnswer.distances`, `contact_id`, `geometry_revision`, `toi` (negative: not met by the sweep) and
        `flags`.
        """
        self._check_open()
        session = ctypes.c_void_p(self._sessions[hand])
        return self._library.rows("palpate_surface_contacts", session, CONTACT)

    def deform(self, tissue: str, positions_m: npt.ArrayLike, hands: npt.ArrayLike | None = None) -> None:
        """Moves all vertices of a tissue.

        Args:
            tissue: its name.
            positions_m: `(v, 3)` for every one of the hands, or `(len(hands), v, 3)`.
            hands: numbers of the hands in whose copies it moves. None: all. Without `copies` there is one scene, and no
                choice.
        """
        scenes = self._scenes_of(hands)
        all_positions = np.asarray(positions_m, np.float32)
        if all_positions.ndim == 3 and len(all_positions) != len(scenes):
            raise ValueError(f"positions_m is for {len(all_positions)} hands, expected {len(scenes)}")
        for number, scene in enumerate(scenes):
            own = floats(all_positions[number] if all_positions.ndim == 3 else all_positions, "positions_m")
            tissue_id, n = ctypes.c_uint32(self._tissues[tissue]), ctypes.c_size_t(len(own))
            self._call("palpate_deform", scene, tissue_id, pointer(own), n)

    def set_feel(
        self,
        tissue: str,
        materials: Material | Sequence[Material],
        triangle_materials: npt.ArrayLike | None = None,
        hands: npt.ArrayLike | None = None,
    ) -> None:
        """Sets what a tissue feels like, as `Tissue.set_feel` does.

        Args:
            hands: as for `deform`.
        """
        each, of_triangles = table(materials, triangle_materials)
        sent = (MaterialStruct * len(each))(*map(_material, each))
        revision, tissue_id = ctypes.c_uint64(), ctypes.c_uint32(self._tissues[tissue])
        sizes = ctypes.c_size_t(len(each)), ctypes.c_size_t(len(of_triangles))
        for scene in self._scenes_of(hands):
            triangles = pointer(of_triangles)
            self._call(
                "palpate_set_feel", scene, tissue_id, sent, sizes[0], triangles, sizes[1], ctypes.byref(revision)
            )

    def _scenes_of(self, hands: npt.ArrayLike | None) -> list[ctypes.c_void_p]:
        if len(self._scenes) > 1:
            return [self._scene_of(hand) for hand in self._numbers(hands)]
        if hands is not None:
            raise ValueError("hands of one scene have the same tissues: pass copies=True to Batch")
        return [self._scenes[0]]

    def _numbers(self, hands: npt.ArrayLike | None) -> list[int]:
        numbers = range(len(self)) if hands is None else indices(hands, "hands").tolist()
        for hand in numbers:
            if hand >= len(self):
                raise IndexError(f"there is no hand {hand}, only {len(self)}")
        return list(numbers)

    def _scene_of(self, hand: int) -> ctypes.c_void_p:
        return self._scenes[0 if len(self._scenes) == 1 else hand]

    def _session_place(self, hand: int) -> Any:
        return ctypes.byref(self._sessions, hand * ctypes.sizeof(ctypes.c_void_p))

    def _scene(self, how: str, source: ctypes.c_void_p, name: bytes) -> ctypes.c_void_p:
        scene = ctypes.c_void_p()
        self._call(how, source, name, ctypes.byref(scene))
        self._scenes.append(scene)
        return scene

    def _add_tissue(self, scene: ctypes.c_void_p, name: str, mesh: MeshLike, scale_to_m: float) -> int:
        tissue, scale = ctypes.c_uint32(), ctypes.c_double(scale_to_m)
        for file in _file(mesh):
            where = os.fsencode(file)
            self._call("palpate_add_tissue_file", scene, name.encode(), where, scale, None, ctypes.byref(tissue))
            self._warn(name)
            return tissue.value
        arrays = _arrays(mesh, scale_to_m)
        self._call("palpate_add_tissue", scene, name.encode(), ctypes.byref(arrays[0]), None, ctypes.byref(tissue))
        self._warn(name)
        return tissue.value

    def _add_tool(self, scene: ctypes.c_void_p, tool: MeshLike | Sequence[Link], scale_to_m: float) -> tuple[int, int]:
        tool_id = ctypes.c_uint32()
        links = links_of("tool", tool, scale_to_m)
        if any(link.left_handed or link.tolerance_m for link in links):
            raise ValueError("links of a batch are right-handed, and have fields of the default tolerance")
        if not isinstance(tool, (list, tuple)) or not any(isinstance(one, Link) for one in tool):
            for file in _file(links[0].mesh):
                where, scale = os.fsencode(file), ctypes.c_double(links[0].scale_to_m)
                self._call("palpate_add_tool_file", scene, b"tool", where, scale, ctypes.byref(tool_id))
                self._warn("tool")
                return tool_id.value, 1
        sent, kept = (LinkStruct * len(links))(), []
        for link, to in zip(links, sent, strict=True):
            to.mesh, arrays = _arrays(link.mesh, link.scale_to_m)
            rest = as_pose(link.rest_pose if link.rest_pose is not None else Pose())
            pose = np.concatenate([rest.position_m, rest.orientation])
            # The library reads them in the call below.
            kept.append((arrays, pose))
            to.size, to.name, to.rest_pose = ctypes.sizeof(LinkStruct), link.name.encode(), pointer(pose)
            to.fill_holes_m, to.weld_m = link.fill_holes_m, link.weld_m
        self._call("palpate_add_tool", scene, b"tool", sent, ctypes.c_size_t(len(links)), ctypes.byref(tool_id))
        self._warn("tool")
        return tool_id.value, len(links)

    def _warn(self, name: str) -> None:
        """Passes on what the library found unusual about the meshes that were just added."""
        text = self._library.warning
        if text:
            warnings.warn(f"{name}: the mesh {text}", MeshWarning, stacklevel=4)

    def _call(self, function: str, *arguments: Any) -> None:
        self._check_open()
        self._library.call(function, *arguments)

    def _check_open(self) -> None:
        if not self._server:
            raise Closed("the batch is closed")


def _material(material: Material) -> MaterialStruct:
    friction = material.friction or 0.0
    dynamic = friction if material.friction_dynamic is None else material.friction_dynamic
    return MaterialStruct(
        ctypes.sizeof(MaterialStruct),
        material.friction is not None,
        material.stiffness_n_per_m or 0.0,
        material.damping_n_s_per_m,
        friction,
        dynamic,
        material.stribeck_velocity_m_s,
    )


def _file(mesh: Any) -> Iterator[Path]:
    """Returns the file of a mesh that has one or has to have one, as long as it is there; nothing for arrays."""
    if isinstance(mesh, (str, os.PathLike)):
        yield Path(mesh)
        return
    form, content = content_of(mesh)
    if isinstance(content, bytes):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / f"mesh.{form.lower()}"
            file.write_bytes(content)
            yield file


def _arrays(mesh: MeshLike, scale_to_m: float) -> tuple[MeshStruct, tuple[Array, Array]]:
    """Returns a mesh for the library, and the arrays that it points to."""
    positions, triangles = content_of(mesh)
    if isinstance(triangles, bytes):
        raise ValueError("the mesh of a link is a file, expected positions and triangles, or an object that has them")
    corners, sides = floats(positions, "positions"), indices(triangles, "triangles", 3)
    sent = MeshStruct(corners.ctypes.data, len(corners), sides.ctypes.data, len(sides), scale_to_m)
    return sent, (corners, sides)
