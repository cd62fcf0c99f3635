"""A connection to a server."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Union
from weakref import WeakSet

import grpc

from . import answers
from .contract import CALLS
from .errors import of_status
from .scene import Scene

if TYPE_CHECKING:
    from .haptic_loop import HapticLoop

# Bytes: nothing that a server answers is refused for its size.
_UNLIMITED = -1
_OPTIONS = [
    ("grpc.max_receive_message_length", _UNLIMITED),
    ("grpc.max_send_message_length", _UNLIMITED),
    # A server that hangs, or a cable that was pulled, ends calls with UNAVAILABLE and not never.
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    # A loop that lost its server asks for it ten times a second, and not once in two minutes.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 1_000),
    ("grpc.max_reconnect_backoff_ms", 1_000),
    # One connection for each `connect`, so that one does not wait for what another sends.
    ("grpc.use_local_subchannel_pool", 1),
]

# By this header a proxy in front of several servers says which of them answered, and is told where a call has to go.
_HOST = "palpate-host"

PathLike = Union[str, "os.PathLike[str]"]


def connect(
    address: str,
    *,
    key: str | None = None,
    ca: PathLike | None = None,
    certificate: PathLike | None = None,
    certificate_key: PathLike | None = None,
    timeout_s: float = 10.0,
) -> Server:
    """Connects, and asks the server one thing, so that a wrong address or key is told here.

    Args:
        address: `host:port`, `http://host:port`, `https://host:port` or `unix:/path`.
        key: the API key, where the server has keys.
        ca: PEM file of the authority that vouches for the server. With it, or with `https`, the connection has TLS.
        certificate, certificate_key: PEM files that are shown to a server which asks who calls.

    Raises:
        Unavailable: nobody answers there, or the certificates do not fit.
        Unauthenticated: no key, or one that the server does not know.
        OSError: a file cannot be read.
    """
    server = Server(address, _channel(address, ca, certificate, certificate_key), key)
    try:
        server.ask("ListScenes", timeout_s=timeout_s)
    except BaseException:
        server.close()
        raise
    return server


def _channel(
    address: str,
    ca: PathLike | None,
    certificate: PathLike | None,
    certificate_key: PathLike | None,
) -> grpc.Channel:
    scheme, _, rest = address.rpartition("://")
    if scheme not in ("", "http", "https"):
        raise ValueError(f"the address begins with {scheme}://, expected http://, https://, unix: or a host")
    if scheme != "https" and ca is None and certificate is None:
        return grpc.insecure_channel(rest, _OPTIONS)

    def read(file: PathLike | None) -> bytes | None:
        return None if file is None else Path(file).read_bytes()

    credentials = grpc.ssl_channel_credentials(read(ca), read(certificate_key), read(certificate))
    return grpc.secure_channel(rest, credentials, _OPTIONS)


class Server:
    """A connection to a server; `palpate.connect` makes one. Its methods may be called from any thread."""

    def __init__(self, address: str, channel: grpc.Channel, key: str | None) -> None:
        self.address = address
        self._channel = channel
        # Those that are open, to be ended before the channel is.
        self.loops: WeakSet[HapticLoop] = WeakSet()
        self._metadata: tuple[tuple[str, str], ...] = () if key is None else (("authorization", f"Bearer {key}"),)
        self._has_host = False

    def create_scene(self, scene_id: str, *, durable: bool | None = None) -> Scene:
        """Makes an empty scene. `scene_id`: 1 to 64 of a-z, 0-9 and `-`.

        Args:
            durable: whether it survives the server. `None`: where the server keeps scenes.

        Raises:
            AlreadyExists: there is one of this id: `scene` opens it.
            FailedPrecondition: it is to survive, and the server keeps none.
        """
        self.ask("CreateScene", scene_id=scene_id, durable=durable)
        return Scene(self, scene_id)

    def scene(self, scene_id: str) -> Scene:
        """Opens a scene that is there.

        Raises:
            NotFound: it is not.
        """
        self.ask("GetScene", scene_id=scene_id)
        return Scene(self, scene_id)

    def scenes(self) -> list[answers.Scene]:
        """Describes all scenes, ordered by id."""
        return [answers.Scene(raw) for raw in self.ask("ListScenes").scenes]

    def close(self) -> None:
        """Ends the connection, and all loops and streams that use it. Scenes stay."""
        for loop in list(self.loops):
            loop.close()
        self._channel.close()

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Server({self.address!r})"

    def ask(self, call: str, *, timeout_s: float | None = None, **fields: Any) -> Any:
        """One call of the contract with the fields of its request: protobuf's own answer. What this package has no
        method for can be asked so.
        """
        return self.ask_encoded(call, CALLS[call].request(**fields).SerializeToString(), timeout_s)

    def ask_encoded(self, call: str, request: bytes, timeout_s: float | None = None) -> Any:
        """The same with a request that is encoded already."""
        about = CALLS[call]
        method: Any = self._channel.unary_unary(about.path, None, about.answer.FromString)
        return self._told(call, method, request, timeout_s)

    def upload(self, call: str, requests: Iterable[Any]) -> Any:
        """A call whose request is a stream."""
        about = CALLS[call]
        method = self._channel.stream_unary(about.path, about.request.SerializeToString, about.answer.FromString)
        return self._told(call, method, iter(requests), None)

    def download(self, call: str, **fields: Any) -> Iterator[Any]:
        """A call whose answer is a stream."""
        about = CALLS[call]
        method = self._channel.unary_stream(about.path, about.request.SerializeToString, about.answer.FromString)
        try:
            yield from method(about.request(**fields), metadata=self._metadata)
        except grpc.RpcError as error:
            raise of_status(self.address, call, error) from None

    def open(self, call: str, requests: Iterator[bytes]) -> Any:
        """A call of two streams, whose requests are encoded already: gRPC's call, an iterator of answers."""
        about = CALLS[call]
        method: Any = self._channel.stream_stream(about.path, None, about.answer.FromString)
        return method(requests, metadata=self._metadata)

    def is_reached(self, scene_id: str, within_s: float) -> bool:
        """Whether the server answers, now or in this time; what it answers does not matter."""
        about = CALLS["GetScene"]
        method: Any = self._channel.unary_unary(about.path, about.request.SerializeToString)
        request = about.request(scene_id=scene_id)
        try:
            method(request, timeout=within_s, metadata=self._metadata, wait_for_ready=True)
        except grpc.RpcError as error:
            silence = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.CANCELLED)
            return error.code() not in silence
        return True

    def _told(self, call: str, method: Any, request: Any, timeout_s: float | None) -> Any:
        try:
            answer, done = method.with_call(request, timeout=timeout_s, metadata=self._metadata)
        except grpc.RpcError as error:
            raise of_status(self.address, call, error) from None
        self._note_host(done.initial_metadata())
        return answer

    def _note_host(self, metadata: Iterable[tuple[str, str | bytes]]) -> None:
        """Behind a proxy in front of several servers (`deploy/envoy`) all calls go to the one that answered first."""
        hosts = [(name, value) for name, value in metadata if name == _HOST and isinstance(value, str)]
        if hosts and not self._has_host:
            self._has_host = True
            self._metadata += (hosts[0],)
