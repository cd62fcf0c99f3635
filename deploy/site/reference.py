"""Writes the pages of the references: the contract, C, Python and Rust.

    reference.py FOLDER
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from google.protobuf import descriptor_pb2

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "clients/python/tools"))

import make_contract  # noqa: E402

FILES = ["haptic", "rendering", "scene", "geometry", "watch", "recording"]
# Numbers of fields of descriptors: a path of them leads to a comment (descriptor.proto, SourceCodeInfo).
PACKAGE, MESSAGES, ENUMS, SERVICES = 2, 4, 5, 6
FIELDS, NESTED, NESTED_ENUMS, VALUES, METHODS = 2, 3, 4, 2, 2
Field = descriptor_pb2.FieldDescriptorProto


def line(text: str) -> str:
    """A comment as one line of a table."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def heading(level: int, name: str, text: str) -> list[str]:
    paragraphs = re.split(r"\n\s*\n", text.replace("<", "&lt;"))
    made = [f"{'#' * level} {name}", ""]
    for paragraph in paragraphs:
        made += [" ".join(paragraph.split()), ""]
    return made


class ProtoPage:
    """The page of one file of the contract."""

    def __init__(self, file: descriptor_pb2.FileDescriptorProto, pages: dict[str, str]) -> None:
        self.file = file
        # The page of each message and enum.
        self.pages = pages
        places = file.source_code_info.location
        self.comments = {tuple(at.path): at.leading_comments + at.trailing_comments for at in places}

    def comment(self, *path: int) -> str:
        return self.comments.get(path, "")

    def kind(self, field: Field) -> str:
        name = self.link(field.type_name) if field.type_name else Field.Type.Name(field.type)[5:].lower()
        many = "repeated " if field.label == Field.LABEL_REPEATED else ""
        return f"{many}{name}"

    def link(self, full_name: str) -> str:
        name = full_name.rsplit(".", 1)[-1]
        return f"[{name}]({self.pages[name]}.md#{name.lower()})" if name in self.pages else name

    def message(self, message: descriptor_pb2.DescriptorProto, path: tuple[int, ...]) -> list[str]:
        made = heading(2, message.name, self.comment(*path))
        if message.field:
            made += ["| field | type | |", "|---|---|---|"]
            for n, field in enumerate(message.field):
                about = line(self.comment(*path, FIELDS, n))
                made.append(f"| `{field.name}` | {self.kind(field)} | {about} |")
        made.append("")
        for n, enum in enumerate(message.enum_type):
            made += self.enum(enum, (*path, NESTED_ENUMS, n))
        for n, nested in enumerate(message.nested_type):
            made += self.message(nested, (*path, NESTED, n))
        return made

    def enum(self, enum: descriptor_pb2.EnumDescriptorProto, path: tuple[int, ...]) -> list[str]:
        made = [*heading(2, enum.name, self.comment(*path)), "| value | number | |", "|---|---|---|"]
        for n, value in enumerate(enum.value):
            made.append(f"| `{value.name}` | {value.number} | {line(self.comment(*path, VALUES, n))} |")
        return [*made, ""]

    def service(self, service: descriptor_pb2.ServiceDescriptorProto, path: tuple[int, ...]) -> list[str]:
        made = heading(2, service.name, self.comment(*path))
        for n, method in enumerate(service.method):
            ends = [(method.input_type, method.client_streaming), (method.output_type, method.server_streaming)]
            asked, told = (("a stream of " if many else "") + self.link(name) for name, many in ends)
            made += heading(3, method.name, f"Takes {asked}, returns {told}.\n\n{self.comment(*path, METHODS, n)}")
        return made

    def text(self) -> str:
        name = self.file.name.rsplit("/", 1)[-1]
        made = heading(1, name, self.comment(PACKAGE))
        for n, service in enumerate(self.file.service):
            made += self.service(service, (SERVICES, n))
        for n, message in enumerate(self.file.message_type):
            made += self.message(message, (MESSAGES, n))
        for n, enum in enumerate(self.file.enum_type):
            made += self.enum(enum, (ENUMS, n))
        return "\n".join(made)


def contract(folder: Path) -> None:
    make_contract.FILES = FILES
    compiled = {file.name: file for file in make_contract.compiled().file}
    files = {name: compiled[f"palpate/v1/{name}.proto"] for name in FILES}
    pages = {one.name: name for name, file in files.items() for one in [*file.message_type, *file.enum_type]}
    for name, file in files.items():
        (folder / f"{name}.md").write_text(ProtoPage(file, pages).text())
    listed = "\n".join(FILES)
    (folder / "contract.md").write_text(
        "# Contract\n\nThe gRPC services and messages of `palpate.v1`. [Writing a client](../proto/README.md) describes "
        f"them in the order in which a client needs them.\n\n```{{toctree}}\n:maxdepth: 1\n\n{listed}\n```\n"
    )


def c(folder: Path) -> None:
    """Comments and declarations of the header: functions, structs, constants."""
    header = (ROOT / "clients/c/include/palpate.h").read_text()
    constant = r"#define PALPATE\w+ .*\n"
    opaque, body = r"typedef struct .*;\n", r"typedef (?:enum|struct) \w+ \{\n(?:.*\n)*?\} .*\n"
    function = r"(?:enum|const) [^;{]*\([^;]*;\n"
    shape = rf"((?:^//.*\n)*)^({constant}|{opaque}|{body}|{function})"
    kinds: dict[str, list[str]] = {"Functions": [], "Structs and enums": [], "Constants": []}
    for comment, declared in re.findall(shape, header, re.MULTILINE):
        words = " ".join(row[2:].strip() for row in comment.splitlines())
        if declared.startswith("#define"):
            kind, name = "Constants", declared.split()[1]
        elif declared.startswith("typedef"):
            kind, name = "Structs and enums", declared.rstrip(";\n").rsplit(" ", 1)[-1]
        else:
            found = re.search(r"(\w+)\(", declared)
            assert found, declared
            kind, name = "Functions", found[1]
        kinds[kind] += [*heading(3, name, words), "```c", declared.rstrip(), "```", ""]
    n_functions = len(re.findall(r"^(?!//).*\bpalpate_\w+\(", header, re.MULTILINE))
    assert len(kinds["Functions"]) > 5 and sum(row.startswith("### ") for row in kinds["Functions"]) == n_functions
    made = ["# C", "", "Made from [`palpate.h`](../clients/c/include/palpate.h). [The guide](../clients/c/README.md).", ""]
    for kind, entries in kinds.items():
        made += [f"## {kind}", "", *entries]
    (folder / "c.md").write_text("\n".join(made))


def python(folder: Path) -> None:
    import palpate

    # In the order in which a program uses them.
    first = ["start", "connect", "Server", "Scene", "Tissue", "Tool", "HapticLoop", "Render", "Report", "Pose"]
    others = [name for name in palpate.__all__ if name not in first]
    made = ["# Python", "", "[The guide](../clients/python/README.md) has each of these in use.", ""]
    for name in [*first, *others]:
        value = getattr(palpate, name)
        if not isinstance(value, type) and not callable(value):
            continue
        directive = "autoclass" if isinstance(value, type) else "autofunction"
        members = ["   :members:"] if directive == "autoclass" else []
        made += [f"## {name}", "", "```{eval-rst}", f".. {directive}:: palpate.{name}", *members, "```", ""]
    for module in ("mujoco", "newton", "sofa"):
        made.append(f"`palpate.{module}` needs its solver: see [the guides](../clients/guides/README.md).\n")
    (folder / "python.md").write_text("\n".join(made))


def rust(folder: Path) -> None:
    (folder / "rust.md").write_text(
        "# Rust\n\n<a href='../rust/palpate/index.html'>The crate <code>palpate</code></a>: client, service and a face of "
        "the engine.\n\n<a href='../rust/palpate_engine/index.html'>The crate <code>palpate-engine</code></a>: the engine.\n"
    )


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True)
    for make in (contract, c, python, rust):
        make(folder)


main()
