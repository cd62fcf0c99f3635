"""A connection to a server, the calls made over it, and the server's address."""

from __future__ import annotations

import ctypes
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
from .library import AddressStruct
from .proxied_host import ProxiedHost
from .uninterrupted import uninterrupted

PathLike = Union[str, "os.PathLike[str]"]

# Unlimited message sizes in bytes: no answer of a server is rejected for its size.
_UNLIMITED = -1
# Maximum wait, in seconds, of a call for its answer and of a stream until its first message has left: longer than
# keepalive needs to detect a server that hangs. Without this limit they would wait for ever if all streams of the
# connection are open.
_WAIT_S = 60.0
_LATE = grpc.StatusCode.DEADLINE_EXCEEDED
_OPTIONS = [
    ("grpc.max_receive_message_length", _UNLIMITED),
    ("grpc.max_send_message_length", _UNLIMITED),
    # Keepalive ends calls with UNAVAILABLE if a server hangs or a cable was pulled; without it they would never end.
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    # Newer versions of gRPC use this option, with a default of one minute, instead of the one above.
    ("grpc.http2.ping_timeout_ms", 5_000),
    # A loop that lost its server tries to reconnect ten times a second instead of once in two minutes.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 1_000),
    ("grpc.max_reconnect_backoff_ms", 1_000),
    # Each `connect` has a connection of its own, so that none waits for the messages of another.
    ("grpc.use_local_subchannel_pool", 1),
]


class ServerAddress:
    """Address of a server, or of several that share scenes, with key and certificates."""

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
        # A path may contain commas.
        self._each = [text] if text.startswith("unix:") else [one.strip() for one in text.split(",")]
        self._key = key
        self._files = ca, certificate, certificate_key
        schemes = {one.rpartition("://")[0] for one in self._each}
        for scheme in sorted(schemes - {"", "http", "https"}):
            raise ValueError(f"the address begins with {scheme}://, expected http://, https://, unix: or a host")
        for one in self._each:
            if not one.startswith("unix:"):
                _check_port(one)
        self._credentials: grpc.ChannelCredentials | None = None
        # TLS is used for all servers or for none: a server named by another server has the same protection.
        if "https" in schemes or ca is not None or certificate is not None:
            self._credentials = grpc.ssl_channel_credentials(_read(ca), _read(certificate_key), _read(certificate))

    @property
    def has_tls(self) -> bool:
        """True if every server is reached by TLS."""
        return self._credentials is not None

    def struct(self, timeout_s: float) -> AddressStruct:
        """The address for the C library. A call there takes at most `timeout_s`."""
        scheme = "https://" if self.has_tls else "http://"
        each = (one if one.startswith("unix:") else scheme + one.rpartition("://")[2] for one in self._each)
        ca, certificate, certificate_key = (None if file is None else os.fsencode(file) for file in self._files)
        return AddressStruct(
            size=ctypes.sizeof(AddressStruct),
            url=",".join(each).encode(),
            ca_file=ca,
            certificate_file=certificate,
            certificate_key_file=certificate_key,
            timeout_s=timeout_s,
            key=None if self._key is None else self._key.encode(),
        )

    def each(self) -> list[Connection]:
        """Connections to the given servers. No connection is tried before it is used."""
        return [self._open(one, one.rpartition("://")[2]) for one in self._each]

    def at(self, host_and_port: str, asked: Connection | None = None) -> Connection:
        """Connection to a server that a given server named, with the same TLS, key and
        certificates. Behind a proxy the connection goes through the proxy, with another header.
        """
        behind = None if asked is None else asked.host.of_owner(host_and_port)
        if asked is not None and behind is not None:
            return self._open(asked.address, asked.target, behind)
        # With this scheme gRPC accepts only a host name, not for example a path on this machine.
        return self._open(host_and_port, f"dns:///{host_and_port}")

    def _open(self, address: str, target: str, host: ProxiedHost | None = None) -> Connection:
        options: list[tuple[str, Any]] = [*_OPTIONS]
        if target.startswith("unix:"):
            # By default gRPC sends the path as the authority, which the server's HTTP/2 rejects.
            options.append(("grpc.default_authority", "localhost"))
        if self._credentials is None:
            channel = grpc.insecure_channel(target, options)
        else:
            channel = grpc.secure_channel(target, self._credentials, options)
        return Connection(address, target, channel, self._key, host or ProxiedHost())


def _check_port(address: str) -> None:
    """Rejects an address without a valid port: gRPC would try port 443, or part of an invalid port.

    Raises:
        ValueError: the port is missing or invalid.
    """
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
        # Selects one of several servers if there is a proxy at the address.
        self.host = host
        self._channel = channel
        self._is_closed = False
        # Streams that were cancelled because their first message did not leave in time.
        self._late: weakref.WeakSet[Any] = weakref.WeakSet()
        self._key: tuple[tuple[str, str], ...] = () if key is None else (("authorization", f"Bearer {key}"),)
        # An unused connection is closed; at exit gRPC closes connections itself.
        weakref.finalize(self, channel.close).atexit = False

    def place(self) -> tuple[object, ...]:
        """Returns a key that identifies the server, also behind a proxy."""
        return (self.address, *self.host.header())

    def failure(self, call: str, error: grpc.RpcError) -> PalpateError:
        """Returns the error for a call that ended with `error`."""
        ended: Any = error
        # A trailers-only refusal has no initial metadata, only trailing metadata.
        self.host.hear(ended.initial_metadata())
        self.host.hear(ended.trailing_metadata())
        failure = of_status(self.address, call, error)
        # The library's own text is replaced; a server's is more specific.
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
        """Closes the connection, and the streams that use it."""
        self._is_closed = True
        uninterrupted(self._channel.close)

    def ask(self, call: str, request: bytes, timeout_s: float | None) -> Any:
        """Makes a call with an encoded request and returns protobuf's own answer. `timeout_s`:
        `None`: a minute.
        """
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
        """Makes a call with any number of requests and returns all its answers."""

        def exchanged() -> list[Any]:
            begun = self.open(call, (request.SerializeToString() for request in requests))
            with self._errors(call):
                answers = list(begun)
            self._heard(begun)
            return answers

        return uninterrupted(exchanged)

    def open(self, call: str, requests: Iterator[bytes]) -> Any:
        """Opens a call with any number of encoded requests and returns gRPC's call, an iterator of
        answers.
        """
        about = CALLS[call]
        method: Any = self._channel.stream_stream(about.path, None, about.answer.FromString)
        begun: Any = None

        def sent() -> Iterator[bytes]:
            yield from islice(requests, 1)
            # gRPC requests the next message when this one has left.
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
        """Returns True if the server answers within this time; the content of the answer does not
        matter.
        """
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
        """Converts gRPC's errors to those of this package."""
        try:
            yield
        except grpc.RpcError as error:
            raise self.failure(call, error) from None
        except ValueError:
            # gRPC raises ValueError if a channel was closed and if a header cannot hold the key.
            if self._is_closed:
                raise self._closed() from None
            raise

    def _closed(self) -> Closed:
        return Closed(f"the connection to {self.address} is closed")

    def _metadata(self) -> tuple[tuple[str, str], ...]:
        return self._key + self.host.header()
