"""The types of `palpate.answers`, with the contract's comments, as a stub."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2
from google.protobuf.descriptor import FieldDescriptor

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from palpate import views  # noqa: E402

_HEAD = '''"""What the server answers: see answers.py."""

# Written by tools/make_contract.py from ../../proto.
import enum

import numpy as np
import numpy.typing as npt

from .contact_list import ContactList
from .pose import Pose
from .views import Answer
'''
_SCALARS = {
    FieldDescriptor.TYPE_FLOAT: ("float", "float32"),
    FieldDescriptor.TYPE_DOUBLE: ("float", "float64"),
    FieldDescriptor.TYPE_UINT32: ("int", "uint32"),
    FieldDescriptor.TYPE_INT64: ("int", "int64"),
    FieldDescriptor.TYPE_UINT64: ("int", "uint64"),
    FieldDescriptor.TYPE_BOOL: ("bool", "bool_"),
    FieldDescriptor.TYPE_STRING: ("str", ""),
    FieldDescriptor.TYPE_BYTES: ("bytes", ""),
    FieldDescriptor.TYPE_ENUM: ("", "int32"),
}
_VEC3 = "npt.NDArray[np.float64]"


def _comments(compiled: descriptor_pb2.FileDescriptorSet) -> dict[str, str]:
    """What stands above each message, enum, field and value, by `Message`, `Message.field`."""
    found = {}
    for file in compiled.file:
        if file.package != "palpate.v1":
            continue
        for at in file.source_code_info.location:
            # 4: messages, 2: their fields. 5: enums, 2: their values (descriptor.proto).
            path = list(at.path)
            if path[:1] == [4] or path[:1] == [5]:
                outer: Any = (file.message_type if path[0] == 4 else file.enum_type)[path[1]]
                inner = outer.field if path[0] == 4 else outer.value
                if len(path) == 2:
                    found[outer.name] = at.leading_comments
                elif len(path) == 4 and path[2] == 2:
                    found[f"{outer.name}.{inner[path[3]].name}"] = at.leading_comments
    return found


def _doc(text: str) -> list[str]:
    words = " ".join(text.split()).replace('"""', "'''")
    return textwrap.wrap(f'"""{words}"""', 110, break_on_hyphens=False) if words else []


def _type(field: FieldDescriptor) -> str:
    full_name = views.full_name(field)
    scalar, dtype = _SCALARS.get(field.type, ("", ""))
    if field.message_type is not None:
        scalar = {"Vec3": _VEC3}.get(field.message_type.name, field.message_type.name)
    elif field.enum_type is not None:
        scalar = field.enum_type.name
    if full_name in views.FLAGS:
        scalar = "Flag"
    if views.is_repeated(field):
        return f"npt.NDArray[np.{dtype}]" if dtype else f"list[{scalar}]"
    if not field.has_presence or full_name in views.ALWAYS:
        return scalar
    is_parallel = field.message_type is not None and field.message_type.name in views.PARALLEL
    return scalar if is_parallel else f"{scalar} | None"


def stub(compiled: descriptor_pb2.FileDescriptorSet) -> str:
    """The text of answers.pyi."""
    comments = _comments(compiled)
    messages, enums = views.reachable()
    lines = [_HEAD]
    for described in enums:
        is_mask = described.name in views.MASKS
        name = views.MASKS.get(described.name, described.name)
        base = "enum.IntFlag" if is_mask else "enum.IntEnum"
        lines += [f"class {name}({base}):"]
        lines += [f"    {line}" for line in _doc(comments[described.name])]
        for member, (key, number) in zip(described.values, views.member_names(described).items(), strict=True):
            lines += [f"    {key} = {number}"]
            lines += [f"    {line}" for line in _doc(comments.get(f"{described.name}.{member.name}", ""))]
        lines += [""]
    for found in messages:
        mixin = views.MIXINS.get(found.name)
        lines += [f"class {found.name}({f'{mixin.__name__}, ' if mixin else ''}Answer):"]
        lines += [f"    {line}" for line in _doc(comments[found.name])]
        for field in found.fields:
            shape = views.rows(field) if views.is_repeated(field) else ()
            shaped = f"  # (n, {', '.join(map(str, shape))})" if shape else ""
            lines += ["    @property", f"    def {field.name}(self) -> {_type(field)}:{shaped}"]
            doc = _doc(comments.get(f"{found.name}.{field.name}", ""))
            lines += [f"        {line}" for line in doc] or ["        ..."]
        lines += [""]
    return "\n".join(lines)
