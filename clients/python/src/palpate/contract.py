"""Messages and calls of the contract `palpate.v1`.

The classes are made at import from the descriptor set beside this file, which
`tools/make_contract.py` writes. Code that protoc generates is bound to the version of protobuf that
made it; a descriptor set is not.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

PACKAGE = "palpate.v1"


def _read() -> descriptor_pool.DescriptorPool:
    # Private pool: the process may contain other versions of google.rpc and of this contract.
    pool = descriptor_pool.DescriptorPool()
    shipped = files(__package__).joinpath("palpate.binpb").read_bytes()
    for file in descriptor_pb2.FileDescriptorSet.FromString(shipped).file:
        pool.AddSerializedFile(file.SerializeToString())
    return pool


POOL = _read()


def message(name: str) -> Any:
    """Returns the class of a message of the contract, by its name, for example `Tick`. A name with
    dots may be of any package.
    """
    full_name = name if "." in name else f"{PACKAGE}.{name}"
    return message_factory.GetMessageClass(POOL.FindMessageTypeByName(full_name))


class Call:
    """A call of a service: its path, request class and answer class."""

    def __init__(self, service: str, name: str) -> None:
        method = POOL.FindServiceByName(f"{PACKAGE}.{service}").methods_by_name[name]
        self.name = name
        self.path = f"/{PACKAGE}.{service}/{name}"
        self.request = message_factory.GetMessageClass(method.input_type)
        self.answer = message_factory.GetMessageClass(method.output_type)


def calls() -> dict[str, Call]:
    """Returns all calls of the contract, by name."""
    services = ("SceneService", "HapticService")
    return {
        method.name: Call(service, method.name)
        for service in services
        for method in POOL.FindServiceByName(f"{PACKAGE}.{service}").methods
    }


CALLS = calls()
