"""Replays recorded poses in lock-step over ctypes: replay.py LIBRARY FOLDER OUT [HOST:PORT]"""

import ctypes as c
import pathlib
import struct
import sys


class Vec3(c.Structure):
    _fields_ = [(name, c.c_double) for name in "xyz"]


class Pose(c.Structure):
    _fields_ = [("position_m", Vec3), ("orientation", c.c_double * 4)]


class Wrench(c.Structure):
    _fields_ = [("force_n", Vec3), ("torque_nm", Vec3), ("model_age_s", c.c_double), ("flags", c.c_uint32)]


class Address(c.Structure):
    _fields_ = [
        ("size", c.c_uint32),
        *((name, c.c_char_p) for name in ("url", "key", "ca", "certificate", "certificate_key")),
        ("timeout_s", c.c_double),
    ]


class Options(c.Structure):
    """As before `force_shading_rad` was added: the library reads `size` bytes."""

    _fields_ = [
        ("size", c.c_uint32),
        ("tool_id", c.c_uint32),
        ("cutting_links", c.c_uint32),
        ("lock_step", c.c_uint32),
        ("stiffness", c.c_double * 3),
        ("friction", c.c_double),
        ("limits", c.c_double * 4),
        ("hold_point_m", Vec3),
        ("rate_hz", c.c_double),
    ]


library = c.CDLL(sys.argv[1])
library.palpate_last_error.restype = c.c_char_p
library.palpate_version.restype = c.c_char_p
major, minor, patch = map(int, library.palpate_version().split(b"."))
version = c.c_uint32(1_000_000 * major + 1000 * minor + patch)
folder, out = pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])


def do(name: str, *arguments: object) -> None:
    code = getattr(library, name)(*arguments)
    if code:
        raise SystemExit(f"{name} gave {code}: {library.palpate_last_error().decode()}")


server, scene, session = c.c_void_p(), c.c_void_p(), c.c_void_p()
tissue_id, tool_id = c.c_uint32(), c.c_uint32()
if len(sys.argv) > 4:
    address = Address(size=c.sizeof(Address), url=sys.argv[4].encode())
    do("palpate_connect", version, c.byref(address), c.byref(server))
else:
    do("palpate_open_local", version, c.byref(server))
do("palpate_create_scene", server, b"replay-python", c.byref(scene))
organ, tool = (str(folder / name).encode() for name in ("organ.obj", "tool.obj"))
do("palpate_add_tissue_file", scene, b"organ", organ, c.c_double(1), None, c.byref(tissue_id))
do("palpate_add_tool_file", scene, b"tool", tool, c.c_double(1), c.byref(tool_id))
options = Options(size=c.sizeof(Options))
do("palpate_session_defaults", tool_id, c.byref(options))
options.lock_step, options.friction, options.hold_point_m = 1, 0.2, Vec3(0, 0, 0.03)
do("palpate_open_session", scene, c.byref(options), c.byref(session))
felt = []
for numbers in struct.iter_unpack("<7d", (folder / "poses.bin").read_bytes()):
    pose, wrench = Pose(Vec3(*numbers[:3]), numbers[3:]), Wrench()
    do("palpate_step", session, c.byref(pose), None, c.c_size_t(0), c.c_double(1e-3), c.byref(wrench))
    felt.append(bytes(wrench)[:48])
out.write_bytes(b"".join(felt))
do("palpate_close_session", c.byref(session))
do("palpate_delete_scene", scene)
do("palpate_close_scene", c.byref(scene))
do("palpate_close", c.byref(server))
