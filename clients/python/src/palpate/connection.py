"""One connection, the calls that are made over it, and how a server is reached."""

from __future__ import annotations

import os
import re
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, Union

import grpc

from .contract import CALLS
from .errors import Closed, DeadlineExceeded, NotFound, PalpateError, Unavailable, of_status
from .proxied_host import ProxiedHost
from .uninterrupted import uninterrupted

PathLike = Union[str, "os.PathLike[str]"]

# Bytes: nothing that a server answers is refused for its size.
_UNLIMITED = -1
# How long a call waits for its answer, and a stream until its first message has left, seconds: more than keepalive
# takes to find a server that hangs. When all streams of the connection are open they would wait for ever.
_WAIT_S = 60.0
_LATE = grpc.StatusCode.DEADLINE_EXCEEDED
_OPTIONS = [
    ("grpc.max_receive_message_length", _UNLIMITED),
    ("grpc.max_send_message_length", _UNLIMITED),
    # A server that hangs, or a cable that was pulled, ends calls with UNAVAILABLE and not never.
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    # Newer versions of gRPC wait for a minute by this one, whatever the line above says.
    ("grpc.http2.ping_timeout_ms", 5_000),
    # A loop that lost its server asks for it ten times a second, and not once in two minutes.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 1_000),
    ("grpc.max_reconnect_backoff_ms", 1_000),
    # One connection for each `connect`, so that one does not wait for what another sends.
    ("grpc.use_local_subchannel_pool", 1),
]


class ServerAddress:
    """Where a server is, or several that share scenes, and how each is reached: key, certificates."""

    def __init__(
        self,
        text: str,
        key: str | None,
        ca: PathLike | None,
        certificate: PathLike | None,
        certificate_key: PathLike | None,
    ) -> None:
        if (certificate is None) != (certificate_key is None):
            raise ValueError("certificate and certificate_key are given together, or neither is")
        if key is not None and not (key.isascii() and key.isprintable()):
            raise ValueError("the key has a character that no header can hold, as a line's end")
        # A path may have commas.
        self._each = [text] if text.startswith("unix:") else [one.strip() for one in text.split(",")]
        self._key = key
        schemes = {one.rpartition("://")[0] for one in self._each}
        for scheme in sorted(schemes - {"", "http", "https"}):
            raise ValueError(f"the address begins with {scheme}://, expected http://, https://, unix: or a host")
        for one in self._each:
            if not one.startswith("unix:"):
                _check_port(one)
        self._credentials: grpc.ChannelCredentials | None = None
        # For all of them or none: a server that is named by another is no less sure than that.
        if "https" in schemes or ca is not None or certificate is not None:
            self._credentials = grpc.ssl_channel_credentials(_read(ca), _read(certificate_key), _read(certificate))

    @property
    def has_tls(self) -> bool:
        """Whether each is reached by TLS."""
        return self._credentials is not None

    def each(self) -> list[Connection]:
        """To those that were given. None is tried before it is used."""
        return [self._open(one, one.rpartition("://")[2]) for one in self._each]

    def at(self, host_and_port: str, asked: Connection | None = None) -> Connection:
        """To a server that one of these named: with TLS, key and certificates as they have. Behind a proxy over that,
        with another header."""
        behind = None if asked is None else asked.host.of_owner(host_and_port)
        if asked is not None and behind is not None:
            return self._open(asked.address, asked.target, behind)
        # By this scheme it is a host and nothing else, such as a path on this machine.
        return self._open(host_and_port, f"dns:///{host_and_port}")

    def _open(self, address: str, target: str, host: ProxiedHost | None = None) -> Connection:
        options: list[tuple[str, Any]] = [*_OPTIONS]
        if target.startswith("unix:"):
            # Else gRPC sends the path as the authority, which the server's HTTP/2 refuses.
            options.append(("grpc.default_authority", "localhost"))
        if self._credentials is None:
            channel = grpc.insecure_channel(target, options)
        else:
            channel = grpc.secure_channel(target, self._credentials, options)
        return Connection(address, target, channel, self._key, host or ProxiedHost())


def _check_port(address: str) -> None:
    """gRPC would try port 443, or what is left of a port that is none."""
    host, bracket, rest = address.rpartition("://")[2].rpartition("]")
    port = re.fullmatch(r":(\d{1,5})" if bracket else r"[^:]+:(\d{1,5})", rest)
    if port is None or int(port[1]) > 0xFFFF:
        raise ValueError(f"the address {address!r} has no port, expected host:port or [IPv6]:port")


def _read(file: PathLike | None) -> bytes | None:
    return None if file is None else Path(file).read_bytes()


class Connection:
    """A connection to one server. Its methods may be called from any thread."""

    def __init__(self, address: str, target: str, channel: grpc.Channel, key: str | None, host: ProxiedHost) -> None:
        self.address = address
        self.target = target
        # Which of several servers, where a proxy is at that address.
        self.host = host
        self._channel = channel
        self._is_closed = False
        # Streams that were ended because their first message did not leave.
        self._late: weakref.WeakSet[Any] = weakref.WeakSet()
        self._key: tuple[tuple[str, str], ...] = () if key is None else (("authorization", f"Bearer {key}"),)
        # One that nobody uses any more is closed; at the program's end gRPC sees to that itself.
        weakref.finalize(self, channel.close).atexit = False

    def place(self) -> tuple[object, ...]:
        """Tells servers apart, those behind a proxy too."""
        return (self.address, *self.host.header())

    def failure(self, call: str, error: grpc.RpcError) -> PalpateError:
        """The error for a call that ended so."""
        ended: Any = error
        # A refusal that is all there is has no metadata but the last.
        self.host.hear(ended.initial_metadata())
        self.host.hear(ended.trailing_metadata())
        failure = of_status(self.address, call, error)
        # The library's own words: a server says more.
        if error in self._late or ended.code() is _LATE and ended.details() == "Deadline Exceeded":
            said = "no answer in time, as when all streams of a connection are open (64, unless the server is set so)"
            return DeadlineExceeded(call, _LATE.name, said)
        if self._is_closed and isinstance(failure, Unavailable):
            return self._closed()
        if isinstance(failure, NotFound) and failure.subject == "scene" and self.host.go_back():
            said = f"the server of {call} behind {self.address} is away; another that was asked says: {failure.message}"
            return Unavailable(said, is_told=True)
        return failure

    def close(self) -> None:
        """Ends it, and the streams that use it."""
        self._is_closed = True
        uninterrupted(self._channel.close)

    def ask(self, call: str, request: bytes, timeout_s: float | None) -> Any:
        """A call whose request is encoded already: protobuf's own answer. `timeout_s`: `None`: a minute."""
        about = CALLS[call]
        method: Any = self._channel.unary_unary(about.path, None, about.answer.FromString)
        timeout_s = _WAIT_S if timeout_s is None else timeout_s

        def asked() -> Any:
            with self._errors(call):
                answer, done = method.with_call(request, timeout=timeout_s, metadata=self._metadata())
            self._heard(done)
            return answer

        return uninterrupted(asked)

    def exchange(self, call: str, requests: Iterator[Any]) -> list[Any]:
        """A call of any number of requests: all its answers."""

        def exchanged() -> list[Any]:
            begun = self.open(call, (request.SerializeToString() for request in requests))
            with self._errors(call):
                answers = list(begun)
            self._heard(begun)
            return answers

        return uninterrupted(exchanged)

    def open(self, call: str, requests: Iterator[bytes]) -> Any:
        """A call of any number of requests, which are encoded already: gRPC's call, an iterator of answers."""
        about = CALLS[call]
        method: Any = self._channel.stream_stream(about.path, None, about.answer.FromString)
        begun: Any = None

        def sent() -> Iterator[bytes]:
            yield from islice(requests, 1)
            # gRPC asks for the next one when this one has left.
            timer.cancel()
            yield from requests

        def give_up() -> None:
            self._late.add(begun)
            begun.cancel()

        def opened() -> Any:
            nonlocal begun
            with self._errors(call):
                begun = method(sent(), metadata=self._metadata())
            if begun.add_callback(timer.cancel):
                timer.start()
            return begun

        timer = threading.Timer(_WAIT_S, give_up)
        timer.daemon = True
        return uninterrupted(opened)

    def is_reached(self, scene_id: str, within_s: float) -> bool:
        """Whether the server answers, now or in this time; what it answers does not matter."""
        about = CALLS["GetScene"]
        method: Any = self._channel.unary_unary(about.path, about.request.SerializeToString)
        request = about.request(scene_id=scene_id)
        try:
            method(request, timeout=within_s, metadata=self._metadata(), wait_for_ready=True)
        except grpc.RpcError as error:
            silence = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.CANCELLED)
            return error.code() not in silence
        return True

    def _heard(self, done: Any) -> None:
        self.host.hear(done.initial_metadata())
        self.host.keep()

    @contextmanager
    def _errors(self, call: str) -> Iterator[None]:
        """gRPC's errors become this package's."""
        try:
            yield
        except grpc.RpcError as error:
            raise self.failure(call, error) from None
        except ValueError:
            # gRPC's word for a channel that was closed, and for a key that no header can hold.
            if self._is_closed:
                raise self._closed() from None
            raise

    def _closed(self) -> Closed:
        return Closed(f"the connection to {self.address} is closed")

    def _metadata(self) -> tuple[tuple[str, str], ...]:
        return self._key + self.host.header()
