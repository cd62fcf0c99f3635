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
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .errors import Closed, MeshWarning, NotStarted, refused
from .feel import Material, table
from .mesh import Link, MeshLike, content_of, links_of
from .packed import doubles, floats, indices
from .pose import Pose, as_pose

# Structs of palpate.h, field by field.
_VEC3 = ("f8", 3)
_WRENCH = np.dtype([("force_n", *_VEC3), ("torque_nm", *_VEC3), ("model_age_s", "f8"), ("flags", "u4")], align=True)
_RENDERING = np.dtype(
    [("sequence", "u8"), ("proxy", "f8", 7), ("state", "i4"), ("n_contacts", "u4"), ("distance_m", "f8")], align=True
)
_PAIR = [
    *((name, "u4") for name in ("tissue_id", "triangle", "link", "link_triangle")),
    *((name, *_VEC3) for name in ("barycentric", "link_barycentric", "on_tissue_m", "on_tool_m", "normal")),
    ("signed_distance_m", "f8"),
]
_DISTANCE = np.dtype(
    [
        *_PAIR,
        *((name, "f8") for name in ("lower_bound_m", "sign_certainty", "depth_max_m")),
        ("n_contacts", "u4"),
        ("flags", "u4"),
    ],
    align=True,
)
_CONTACT = np.dtype(
    [("contact_id", "u8"), ("geometry_revision", "u8"), *_PAIR, ("toi", "f8"), ("flags", "u4")], align=True
)
# Codes of palpate.h as canonical ones.
_TOO_SMALL = 8
_CODES = {1: "INVALID_ARGUMENT", 2: "NOT_FOUND", 3: "ALREADY_EXISTS", 4: "RESOURCE_EXHAUSTED", 7: "FAILED_PRECONDITION"}
Array = npt.NDArray[Any]


class _Mesh(ctypes.Structure):
    _fields_ = [
        ("positions", ctypes.c_void_p),
        ("n_vertices", ctypes.c_size_t),
        ("triangles", ctypes.c_void_p),
        ("n_triangles", ctypes.c_size_t),
        ("scale_to_m", ctypes.c_double),
    ]


class _Link(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("name", ctypes.c_char_p),
        ("mesh", _Mesh),
        ("rest_pose", ctypes.c_void_p),
        ("fill_holes_m", ctypes.c_double),
        ("weld_m", ctypes.c_double),
    ]


class _Material(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("has_friction", ctypes.c_uint32),
        ("stiffness_n_per_m", ctypes.c_double),
        ("damping_n_s_per_m", ctypes.c_double),
        ("static_friction", ctypes.c_double),
        ("dynamic_friction", ctypes.c_double),
        ("stribeck_velocity_m_s", ctypes.c_double),
    ]


class _Options(ctypes.Structure):
    """A session's options, as far as a batch sets them: the library takes defaults for the others."""

    _fields_ = [
        *((name, ctypes.c_uint32) for name in ("size", "tool_id", "cutting_links", "lock_step")),
        ("stiffness_n_per_m", ctypes.c_double),
        ("rotational_stiffness_nm_per_rad", ctypes.c_double),
        ("link_stiffness_n_per_m", ctypes.c_double),
        ("friction", ctypes.c_double),
        ("max_force_n", ctypes.c_double),
        ("max_torque_nm", ctypes.c_double),
        ("max_force_rate_n_per_s", ctypes.c_double),
        ("max_torque_rate_nm_per_s", ctypes.c_double),
        ("hold_point_m", ctypes.c_double * 3),
        ("rate_hz", ctypes.c_double),
        ("force_shading_rad", ctypes.c_double),
        ("contact_margin_m", ctypes.c_double),
    ]


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
        self._library, self._process = _library(), os.getpid()
        self._sessions = (ctypes.c_void_p * n)()
        self._server = ctypes.c_void_p()
        major, minor, patch = map(int, version("palpate").split("."))
        header = 1_000_000 * major + 1_000 * minor + patch
        if self._ask("palpate_open_local", ctypes.c_uint32(header), ctypes.byref(self._server)) != 0:
            raise NotStarted(self._library.palpate_last_error().decode())
        self._scenes: list[ctypes.c_void_p] = []
        try:
            first = self._scene("palpate_create_scene", self._server, b"hand-0")
            self._tissues = {name: self._add_tissue(first, name, mesh, scale_to_m) for name, mesh in tissues.items()}
            tool_id, self.n_links = self._add_tool(first, tool, scale_to_m)
            for hand in range(1, n if copies else 1):
                self._scene("palpate_copy_scene", first, b"hand-%d" % hand)
            self._options = _Options(
                size=ctypes.sizeof(_Options),
                tool_id=tool_id,
                cutting_links=sum(1 << link for link in cutting_links),
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
        if os.getpid() != self._process:
            return
        for hand in range(len(self)):
            self._ask("palpate_close_session", self._session_place(hand))
        for scene in self._scenes:
            self._ask("palpate_close_scene", ctypes.byref(scene))
        self._ask("palpate_close", ctypes.byref(self._server))

    def reset(self, hands: npt.ArrayLike | None = None) -> None:
        """Lets hands begin anew where their next poses put them: without a force, a proxy or contacts of before.

        Args:
            hands: their numbers. None: all.
        """
        for hand in self._numbers(hands):
            self._ask("palpate_close_session", self._session_place(hand))
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
        answer = BatchAnswer(np.zeros(n, _WRENCH), np.zeros(n, _RENDERING), np.zeros((n, self.n_links), _DISTANCE))
        self._call(
            "palpate_step_many",
            self._sessions,
            ctypes.c_size_t(n),
            _place(at),
            None if links is None else _place(links),
            ctypes.c_size_t(n_links),
            ctypes.c_double(dt_s),
            _place(answer.wrenches),
            _place(answer.renderings),
            _place(answer.distances),
            ctypes.c_size_t(self.n_links),
        )
        return answer

    def contacts(self, hand: int) -> Array:
        """Returns the contacts of a hand in its last step, whether they bear force or not, as a structured array: the
        fields of `BatchAnswer.distances`, `contact_id`, `geometry_revision`, `toi` (negative: not met by the sweep) and
        `flags`.
        """
        self._check_open()
        room = np.zeros(64, _CONTACT)
        while True:
            n = ctypes.c_size_t()
            code = self._ask(
                "palpate_surface_contacts",
                ctypes.c_void_p(self._sessions[hand]),
                _place(room),
                ctypes.c_size_t(len(room)),
                ctypes.byref(n),
                None,
            )
            if code != _TOO_SMALL:
                self._check("palpate_surface_contacts", code)
                return room[: n.value]
            room = np.zeros(n.value, _CONTACT)

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
            self._call("palpate_deform", scene, tissue_id, _place(own), n)

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
        sent = (_Material * len(each))(*map(_material, each))
        revision, tissue_id = ctypes.c_uint64(), ctypes.c_uint32(self._tissues[tissue])
        sizes = ctypes.c_size_t(len(each)), ctypes.c_size_t(len(of_triangles))
        for scene in self._scenes_of(hands):
            triangles = _place(of_triangles)
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
        sent, kept = (_Link * len(links))(), []
        for link, to in zip(links, sent, strict=True):
            to.mesh, arrays = _arrays(link.mesh, link.scale_to_m)
            rest = as_pose(link.rest_pose if link.rest_pose is not None else Pose())
            pose = np.concatenate([rest.position_m, rest.orientation])
            # The library reads them in the call below.
            kept.append((arrays, pose))
            to.size, to.name, to.rest_pose = ctypes.sizeof(_Link), link.name.encode(), _place(pose)
            to.fill_holes_m, to.weld_m = link.fill_holes_m, link.weld_m
        self._call("palpate_add_tool", scene, b"tool", sent, ctypes.c_size_t(len(links)), ctypes.byref(tool_id))
        self._warn("tool")
        return tool_id.value, len(links)

    def _warn(self, name: str) -> None:
        """Passes on what the library found unusual about the meshes that were just added."""
        text = self._library.palpate_last_warning().decode()
        if text:
            warnings.warn(f"{name}: the mesh {text}", MeshWarning, stacklevel=4)

    def _ask(self, function: str, *arguments: Any) -> int:
        if os.getpid() != self._process:
            raise RuntimeError("this process was forked: it cannot use the batch of its parent")
        code: int = getattr(self._library, function)(*arguments)
        return code

    def _call(self, function: str, *arguments: Any) -> None:
        self._check_open()
        self._check(function, self._ask(function, *arguments))

    def _check_open(self) -> None:
        if not self._server:
            raise Closed("the batch is closed")

    def _check(self, function: str, code: int) -> None:
        if code != 0:
            text = self._library.palpate_last_error().decode()
            raise refused(function, _CODES.get(code, "INTERNAL"), text)


def _material(material: Material) -> _Material:
    friction = material.friction or 0.0
    dynamic = friction if material.friction_dynamic is None else material.friction_dynamic
    return _Material(
        ctypes.sizeof(_Material),
        material.friction is not None,
        material.stiffness_n_per_m or 0.0,
        material.damping_n_s_per_m,
        friction,
        dynamic,
        material.stribeck_velocity_m_s,
    )


def _place(array: Array) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


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


def _arrays(mesh: MeshLike, scale_to_m: float) -> tuple[_Mesh, tuple[Array, Array]]:
    """Returns a mesh for the library, and the arrays that it points to."""
    positions, triangles = content_of(mesh)
    if isinstance(triangles, bytes):
        raise ValueError("the mesh of a link is a file, expected positions and triangles, or an object that has them")
    corners, sides = floats(positions, "positions"), indices(triangles, "triangles", 3)
    sent = _Mesh(corners.ctypes.data, len(corners), sides.ctypes.data, len(sides), scale_to_m)
    return sent, (corners, sides)


def _library() -> ctypes.CDLL:
    """Loads the C library: that of PALPATE_LIBRARY, or of the wheel, or of the system."""
    inside = Path(__file__).parent / "libpalpate_c.so"
    name = os.environ.get("PALPATE_LIBRARY") or (str(inside) if inside.exists() else "libpalpate_c.so")
    try:
        library = ctypes.CDLL(name)
    except OSError as error:
        raise NotStarted(
            f"there is no engine for this process ({error}): install a wheel that has it, or name the C library in "
            "PALPATE_LIBRARY"
        ) from error
    library.palpate_last_error.restype = library.palpate_last_warning.restype = ctypes.c_char_p
    return library
