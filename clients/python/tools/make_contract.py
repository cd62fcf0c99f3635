"""Writes what the package ships of the contract: its descriptor set, and the types of its answers.

    python tools/make_contract.py            write src/palpate/palpate.binpb and src/palpate/answers.pyi
    python tools/make_contract.py --check    fail when they are not those of ../../proto

Needs grpcio-tools and googleapis-common-protos.
"""

from __future__ import annotations

import sys
import tempfile
from importlib.resources import files
from pathlib import Path

import google.rpc
from google.protobuf import descriptor_pb2
from grpc_tools import protoc

HERE = Path(__file__).resolve().parent.parent
PROTO = HERE.parent.parent / "proto"
PACKAGE = HERE / "src" / "palpate"
FILES = ["haptic", "scene"]
# Details of errors.
RPC_FILES = ["google/rpc/status.proto", "google/rpc/error_details.proto"]


def compiled() -> descriptor_pb2.FileDescriptorSet:
    """All files with what they import, imported ones first, with comments."""
    google_rpc = Path(next(iter(google.rpc.__path__))).parent.parent
    with tempfile.NamedTemporaryFile() as out:
        arguments = [
            "protoc",
            f"-I{PROTO}",
            f"-I{google_rpc}",
            f"-I{files('grpc_tools').joinpath('_proto')}",
            f"--descriptor_set_out={out.name}",
            "--include_imports",
            "--include_source_info",
            *(f"palpate/v1/{name}.proto" for name in FILES),
            *RPC_FILES,
        ]
        if protoc.main(arguments) != 0:
            raise SystemExit(f"protoc refuses the files of {PROTO}")
        return descriptor_pb2.FileDescriptorSet.FromString(Path(out.name).read_bytes())


def shipped(compiled: descriptor_pb2.FileDescriptorSet) -> bytes:
    """The same without comments, and without what only languages of other generators read."""
    bare = descriptor_pb2.FileDescriptorSet()
    bare.CopyFrom(compiled)
    for file in bare.file:
        for unused in ("source_code_info", "options"):
            file.ClearField(unused)
    return bare.SerializeToString(deterministic=True)


def ours(descriptors: bytes) -> list[descriptor_pb2.FileDescriptorProto]:
    """The files of Palpate. Those of Google change with the packages that bring them."""
    found = descriptor_pb2.FileDescriptorSet.FromString(descriptors).file
    return [file for file in found if file.package == "palpate.v1"]


def main() -> None:
    made = compiled()
    descriptors, types = PACKAGE / "palpate.binpb", PACKAGE / "answers.pyi"
    is_check = sys.argv[1:] == ["--check"]
    if not is_check:
        descriptors.write_bytes(shipped(made))
    # Imported late: it reads the descriptors that the package ships.
    from answer_types import stub

    if not is_check:
        types.write_text(stub(made))
    elif ours(descriptors.read_bytes()) != ours(shipped(made)) or types.read_text() != stub(made):
        raise SystemExit(f"{PACKAGE} is not of {PROTO}: run python {Path(__file__)}")


if __name__ == "__main__":
    main()
