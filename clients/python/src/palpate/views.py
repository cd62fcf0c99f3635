"""Readers of answers: a class for each message and enum of the contract that the server answers
with.

`answers` exports the classes, and answers.pyi has their types.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor

from .contact_list import ContactList
from .contract import PACKAGE, POOL
from .pose import Pose

_MODULE = f"{__package__}.answers"
# Root messages of answers: classes are made for these and for all messages that they hold.
ROOTS = [
    "TrackResponse",
    "QueryDistancesResponse",
    "QueryContactsResponse",
    "FeatureContacts",
    "SelfCollisionTotals",
    "Scene",
    "MeshReport",
    "FieldReport",
    "DeformResponse",
    "EditTopologyResponse",
    "HoldTissueResponse",
    "SetFeelResponse",
]
# Shapes of rows that the field's name does not give.
ROWS = {
    "TrianglePairs.segment_xyz_m": (2, 3),
    "TrianglePairs.triangle_barycentric_xyz": (2, 3),
    "TrianglePairs.link_triangle_barycentric_xyz": (2, 3),
    "FeatureContacts.vertex_ids": (4,),
}
# Messages of parallel arrays: a missing message is empty.
PARALLEL = {"Contacts", "TrianglePairs"}
# Classes that a message's class inherits beside `Answer`.
MIXINS: dict[str, type] = {"Contacts": ContactList}
# Fields that the server always sends.
ALWAYS = {
    "Rendering.proxy",
    "Rendering.force_n",
    "Rendering.torque_nm",
    "SurfacePoint.position_m",
    "SurfacePoint.barycentric",
    "MeshReport.box_min_m",
    "MeshReport.box_max_m",
    "Tissue.report",
    "Link.report",
}
# Fields `flags` hold masks. The contract also numbers their bits, which Python does not need.
MASKS = {"FlagMask": "Flag"}
FLAGS = {"TrackResponse.flags", "QueryContactsResponse.flags"}

_DTYPES = {
    FieldDescriptor.TYPE_FLOAT: np.float32,
    FieldDescriptor.TYPE_DOUBLE: np.float64,
    FieldDescriptor.TYPE_UINT32: np.uint32,
    FieldDescriptor.TYPE_UINT64: np.uint64,
    FieldDescriptor.TYPE_BOOL: np.bool_,
    FieldDescriptor.TYPE_ENUM: np.int32,
}


class Answer:
    """A message of the contract. `raw` is protobuf's own message, for fields that this view does
    not show.
    """

    _readers: dict[str, Callable[[Any], Any]] = {}

    def __init__(self, raw: Any) -> None:
        self.raw = raw

    # Type checkers know the fields from answers.pyi, and find misspelled ones.
    if not TYPE_CHECKING:
        # Python calls this only for fields that were not read yet: each field is read once and kept.
        def __getattr__(self, name: str) -> Any:
            reader = self._readers.get(name)
            if reader is None:
                raise AttributeError(f"{type(self).__name__} has no {name!r}")
            value = reader(self.raw)
            self.__dict__[name] = value
            return value

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._readers]

    def __repr__(self) -> str:
        read = ((name, getattr(self, name)) for name in self._readers)
        given = [f"{name}={value!r}" for name, value in read if value is not None and np.size(value)]
        return f"{type(self).__name__}({', '.join(given)})"


class OpenEnum(enum.IntEnum):
    """An enum to which a newer server may add values."""

    @classmethod
    def _missing_(cls, value: object) -> Any:
        if not isinstance(value, int):
            return None
        unknown = int.__new__(cls, value)
        unknown._name_, unknown._value_ = f"UNKNOWN_{value}", value
        return unknown


def reachable() -> tuple[list[Descriptor], list[EnumDescriptor]]:
    """Returns the messages and enums of answers, each after those that it refers to."""
    messages: dict[str, Descriptor] = {}
    enums: dict[str, EnumDescriptor] = {}

    def add(found: Descriptor) -> None:
        if found.name in messages or found.name in {"Vec3", "Pose", "Quaternion"}:
            return
        for field in found.fields:
            if field.message_type is not None:
                add(field.message_type)
            elif field.enum_type is not None:
                enums[field.enum_type.name] = field.enum_type
        messages[found.name] = found

    for root in ROOTS:
        add(POOL.FindMessageTypeByName(f"{PACKAGE}.{root}"))
    for name in MASKS:
        enums[name] = POOL.FindEnumTypeByName(f"{PACKAGE}.{name}")
    return list(messages.values()), list(enums.values())


def member_names(described: EnumDescriptor) -> dict[str, int]:
    """Returns the names of values without the enum's own prefix, for example `FREE` of
    `RenderState`.
    """
    shared = described.values[0].name.rpartition("_")[0] + "_"
    return {value.name.removeprefix(shared): value.number for value in described.values}


def is_repeated(field: FieldDescriptor) -> bool:
    """Returns True if the field holds any number of values."""
    # Older versions of protobuf have only the label; newer versions warn about it.
    known = getattr(field, "is_repeated", None)
    return bool(field.label == FieldDescriptor.LABEL_REPEATED if known is None else known)  # type: ignore[attr-defined]


def full_name(field: FieldDescriptor) -> str:
    """Returns the name with its message, for example `Rendering.force_n`."""
    owner = field.containing_type
    assert owner is not None, "the contract has no extensions"
    return f"{owner.name}.{field.name}"


def rows(field: FieldDescriptor) -> tuple[int, ...]:
    """Returns the shape of one entry of a parallel array; () if the entry is a number."""
    own = ROWS.get(full_name(field))
    if own is not None:
        return own
    return (3,) if "_xyz" in field.name else ()


def _vec3(raw: Any) -> Any:
    return np.array((raw.x, raw.y, raw.z))


def _pose(raw: Any) -> Pose:
    turn = raw.orientation
    return Pose(
        _vec3(raw.position_m),
        (turn.x, turn.y, turn.z, turn.w) if raw.HasField("orientation") else (0, 0, 0, 1),
    )


def _one(field: FieldDescriptor) -> Any:
    """Returns the reader of one value of a field."""
    if field.message_type is not None:
        kind = field.message_type.name
        return {"Vec3": _vec3, "Pose": _pose}.get(kind) or _classes[kind]
    if field.enum_type is not None:
        return _classes[field.enum_type.name]
    if full_name(field) in FLAGS:
        return _classes["Flag"]
    return lambda value: value


def _reader(field: FieldDescriptor) -> Callable[[Any], Any]:
    name = field.name
    if is_repeated(field):
        if field.message_type is not None:
            each = _one(field)
            return lambda raw: [each(value) for value in getattr(raw, name)]
        if field.type not in _DTYPES:
            return lambda raw: list(getattr(raw, name))
        dtype, shape = _DTYPES[field.type], (-1, *rows(field))

        def read(raw: Any) -> Any:
            # NumPy copies protobuf's memory if protobuf exposes it, and otherwise converts number by number.
            return np.array(getattr(raw, name), dtype).reshape(shape)

        return read
    one = _one(field)
    if not field.has_presence:
        return lambda raw: one(getattr(raw, name))
    if field.message_type is not None and field.message_type.name in PARALLEL:
        return lambda raw: one(getattr(raw, name))
    if full_name(field) in ALWAYS:

        def required(raw: Any) -> Any:
            if not raw.HasField(name):
                raise ValueError(f"the server sent no {full_name(field)}")
            return one(getattr(raw, name))

        return required
    return lambda raw: one(getattr(raw, name)) if raw.HasField(name) else None


# Filled once: classes refer to the classes of their fields.
_classes: dict[str, Any] = {}


def classes() -> dict[str, Any]:
    """Returns all classes, by name."""
    messages, enums = reachable()
    for described in enums:
        name = MASKS.get(described.name, described.name)
        members = member_names(described)
        if described.name in MASKS:
            _classes[name] = enum.IntFlag(name, members, module=_MODULE)
        else:
            # Functional API of enums, which makes an enum without a class statement; mypy takes it for the look-up of a
            # member.
            make: Any = OpenEnum
            _classes[name] = make(name, members, module=_MODULE)
    for found in messages:
        readers = {field.name: _reader(field) for field in found.fields}
        space = {"_readers": readers, "__module__": _MODULE, "__doc__": Answer.__doc__}
        mixins = (MIXINS[found.name],) if found.name in MIXINS else ()
        _classes[found.name] = type(found.name, (*mixins, Answer), space)
    return _classes
