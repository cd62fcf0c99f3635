"""Behind a proxy in front of several servers, all calls of a connection go to the server of the first answer."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest

import palpate
from palpate.contract import CALLS

_HOST = "palpate-host"


class _Proxied:
    """Answers each call with nothing, and says that another server has answered."""

    def __init__(self) -> None:
        self.asked: list[str | bytes | None] = []
        about = CALLS["ListScenes"]

        def answer(request: bytes, context: grpc.ServicerContext) -> bytes:
            brought = dict(context.invocation_metadata())
            self.asked.append(brought.get(_HOST))
            context.send_initial_metadata(((_HOST, f"server-{len(self.asked)}"),))
            return about.answer().SerializeToString()

        _, service, method = about.path.split("/")
        handlers: dict[str, Any] = {method: grpc.unary_unary_rpc_method_handler(answer)}
        self._server = grpc.server(ThreadPoolExecutor(2))
        self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, handlers),))
        self.address = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        self._server.start()

    def stop(self) -> None:
        self._server.stop(None).wait()


@pytest.fixture
def proxied() -> Iterator[_Proxied]:
    proxied = _Proxied()
    yield proxied
    proxied.stop()


def test_calls_go_to_the_server_of_the_first_answer(proxied: _Proxied) -> None:
    with palpate.connect(proxied.address) as server:
        server.scenes()
        server.scenes()
    # `connect` makes one call.
    assert proxied.asked == [None, "server-1", "server-1"]
    with palpate.connect(proxied.address):
        pass
    assert proxied.asked[3] is None, "another connection may go elsewhere"
