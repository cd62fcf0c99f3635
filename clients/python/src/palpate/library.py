"""The C library in this process: its structs, its calls and their errors."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .errors import NotStarted, PalpateError, Unavailable, refused

# Structs of palpate.h, field by field.
_VEC3 = ("f8", 3)
WRENCH = np.dtype([("force_n", *_VEC3), ("torque_nm", *_VEC3), ("model_age_s", "f8"), ("flags", "u4")], align=True)
RENDERING = np.dtype(
    [("sequence", "u8"), ("proxy", "f8", 7), ("state", "i4"), ("n_contacts", "u4"), ("distance_m", "f8")], align=True
)
_PAIR = [
    *((name, "u4") for name in ("tissue_id", "triangle", "link", "link_triangle")),
    *((name, *_VEC3) for name in ("barycentric", "link_barycentric", "on_tissue_m", "on_tool_m", "normal")),
    ("signed_distance_m", "f8"),
]
DISTANCE = np.dtype(
    [
        *_PAIR,
        *((name, "f8") for name in ("lower_bound_m", "sign_certainty", "depth_max_m")),
        ("n_contacts", "u4"),
        ("flags", "u4"),
    ],
    align=True,
)
CONTACT = np.dtype(
    [("contact_id", "u8"), ("geometry_revision", "u8"), *_PAIR, ("toi", "f8"), ("flags", "u4")], align=True
)
# Codes of palpate.h, and the canonical ones of those that refuse a call.
_UNAVAILABLE, _TOO_SMALL, NO_ANSWER, _INCOMPATIBLE = 5, 8, 9, 11
_CODES = {
    1: "INVALID_ARGUMENT",
    2: "NOT_FOUND",
    3: "ALREADY_EXISTS",
    4: "PERMISSION_DENIED",
    6: "FAILED_PRECONDITION",
    7: "FAILED_PRECONDITION",
    9: "FAILED_PRECONDITION",
}
Array = npt.NDArray[Any]


class MeshStruct(ctypes.Structure):
    _fields_ = [
        ("positions", ctypes.c_void_p),
        ("n_vertices", ctypes.c_size_t),
        ("triangles", ctypes.c_void_p),
        ("n_triangles", ctypes.c_size_t),
        ("scale_to_m", ctypes.c_double),
    ]


class LinkStruct(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("name", ctypes.c_char_p),
        ("mesh", MeshStruct),
        ("rest_pose", ctypes.c_void_p),
        ("fill_holes_m", ctypes.c_double),
        ("weld_m", ctypes.c_double),
    ]


class MaterialStruct(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("has_friction", ctypes.c_uint32),
        ("stiffness_n_per_m", ctypes.c_double),
        ("damping_n_s_per_m", ctypes.c_double),
        ("static_friction", ctypes.c_double),
        ("dynamic_friction", ctypes.c_double),
        ("stribeck_velocity_m_s", ctypes.c_double),
    ]


class AddressStruct(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32),
        *((name, ctypes.c_char_p) for name in ("url", "key_file", "ca_file", "certificate_file")),
        ("certificate_key_file", ctypes.c_char_p),
        ("timeout_s", ctypes.c_double),
        ("key", ctypes.c_char_p),
    ]


class OptionsStruct(ctypes.Structure):
    """A session's options, as far as this package sets them: the library takes defaults for the others."""

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


def pointer(array: Array) -> ctypes.c_void_p:
    """Returns a pointer to an array, which must outlive the call."""
    return ctypes.c_void_p(array.ctypes.data)


def link_bits(links: Iterable[int]) -> int:
    """Returns links as bits.

    Raises:
        ValueError: a number is not from 0 to 31.
    """
    bits = 0
    for link in links:
        if not 0 <= link < 32:
            raise ValueError(f"cutting_links has {link}, expected 0 to 31")
        bits |= 1 << link
    return bits


class Library:
    """The library as it was loaded, for one process: a child that was forked cannot use it."""

    def __init__(self) -> None:
        """Loads the library of PALPATE_LIBRARY, or of the wheel, or of the system.

        Raises:
            NotStarted: there is none.
        """
        inside = Path(__file__).parent / "libpalpate_c.so"
        name = os.environ.get("PALPATE_LIBRARY") or (str(inside) if inside.exists() else "libpalpate_c.so")
        try:
            self._library = ctypes.CDLL(name)
        except OSError as error:
            raise NotStarted(
                f"there is no engine for this process ({error}): install a wheel that has it, or name the C library in "
                "PALPATE_LIBRARY"
            ) from error
        for text in ("palpate_last_error", "palpate_last_warning"):
            getattr(self._library, text).restype = ctypes.c_char_p
        self._process = os.getpid()

    @property
    def is_ours(self) -> bool:
        """True if this process loaded the library."""
        return os.getpid() == self._process

    @property
    def warning(self) -> str:
        """Text about the meshes that this thread added last, if they are unusual."""
        text: bytes = self._library.palpate_last_warning()
        return text.decode()

    def function(self, name: str) -> Any:
        """A function, for calls that must be quick."""
        return getattr(self._library, name)

    def ask(self, function: str, *arguments: Any) -> int:
        """Makes a call, and returns its code.

        Raises:
            RuntimeError: the process was forked.
        """
        if not self.is_ours:
            raise RuntimeError("this process was forked: it cannot use what its parent opened")
        code: int = getattr(self._library, function)(*arguments)
        return code

    def call(self, function: str, *arguments: Any) -> None:
        """Makes a call.

        Raises:
            PalpateError: the call was refused.
        """
        self.check(function, self.ask(function, *arguments))

    def check(self, function: str, code: int) -> None:
        """Checks the code of a call, on the thread that made it.

        Raises:
            PalpateError: the call was refused.
        """
        if code != 0:
            raise self.error(function, code)

    def open(self, function: str, *arguments: Any) -> ctypes.c_void_p:
        """Opens the engine in this process, or a connection.

        Raises:
            NotStarted: the library is of another version.
        """
        major, minor, patch = map(int, version("palpate").split("."))
        opened = ctypes.c_void_p()
        header = ctypes.c_uint32(1_000_000 * major + 1_000 * minor + patch)
        code = self.ask(function, header, *arguments, ctypes.byref(opened))
        if code == _INCOMPATIBLE:
            raise NotStarted(self._library.palpate_last_error().decode())
        self.check(function, code)
        return opened

    def rows(self, function: str, session: Any, dtype: np.dtype[Any]) -> Array:
        """Returns the rows of a session for a call with a buffer, its length, their number and a sequence.

        Before the first answer there are none.
        """
        room = np.zeros(64, dtype)
        while True:
            n = ctypes.c_size_t()
            code = self.ask(function, session, pointer(room), ctypes.c_size_t(len(room)), ctypes.byref(n), None)
            if code == NO_ANSWER:
                return room[:0]
            if code != _TOO_SMALL:
                self.check(function, code)
                return room[: n.value]
            room = np.zeros(n.value, dtype)

    def error(self, function: str, code: int) -> PalpateError:
        """Returns the error of a call, on the thread that made it."""
        text: str = self._library.palpate_last_error().decode()
        if code == _UNAVAILABLE:
            return Unavailable(text)
        return refused(function, _CODES.get(code, "INTERNAL"), text)
