"""A server, or several that share scenes."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakSet

from . import answers
from .connection import Connection, PathLike, ServerAddress
from .contract import CALLS
from .errors import AlreadyExists, NotFound, PalpateError, Unavailable
from .owners import PAUSE_S, Owners, Route
from .scene import Scene

if TYPE_CHECKING:
    from .haptic_loop import HapticLoop

_A = TypeVar("_A")
# Times that a scene is deleted to be replaced, if other programs create it again.
_REPLACEMENTS_MAX = 3

# Calls that change nothing, and are repeated if the answer was lost.
_LOOKS = {
    "DetectSelfCollisions",
    "ExportTissue",
    "ExportTool",
    "GetScene",
    "ListScenes",
    "QueryContacts",
    "QueryDistances",
}


def connect(
    address: str,
    *,
    key: str | None = None,
    ca: PathLike | None = None,
    certificate: PathLike | None = None,
    certificate_key: PathLike | None = None,
    timeout_s: float = 10.0,
) -> Server:
    """Connects, and makes one call to the server, so that a wrong address or key raises here.

    Args:
        address: `host:port`, `http://host:port`, `https://host:port` or `unix:/path`; several with
            commas between them, if servers share scenes: each is tried in turn.
        key: the API key, if the server has keys.
        ca: PEM file of the authority that signed the server's certificate. With it, or with
            `https`, the connection has TLS.
        certificate, certificate_key: PEM files presented to a server that asks for a client
            certificate.
        timeout_s: timeout for each of the addresses. A server that reports that it does not serve
            yet (it starts, or renews its lease) is asked again within this time.

    Raises:
        Unavailable: no server answers there, or the certificates do not fit.
        Unauthenticated: no key, or a key that the server does not know.
        OSError: a file cannot be read.
        ValueError: the address has no port, or another scheme; a certificate is given without its
            key; or the key is malformed.
    """
    servers = ServerAddress(address, key, ca, certificate, certificate_key)
    owners = Owners(servers)
    try:
        _find(owners, timeout_s)
    except Unavailable as nobody:
        owners.close()
        # A server with TLS resets a connection without TLS, but is not the only cause of this.
        if not servers.has_tls and re.search("Socket closed|Connection reset", str(nobody)):
            hint = "if it has TLS, give https:// or ca=..."
            raise Unavailable(f"{nobody} ({hint})", nobody.is_told) from None
        raise
    except BaseException:
        owners.close()
        raise
    return Server(address, owners)


def _find(owners: Owners, timeout_s: float) -> None:
    """Finds the first of the given servers that serves, and stays with it."""
    request = CALLS["ListScenes"].request().SerializeToString()
    until = time.monotonic() + timeout_s
    while True:
        failures = []
        for home in owners.homes():
            try:
                home.ask("ListScenes", request, timeout_s)
            except Unavailable as failure:
                failures.append(failure)
            else:
                owners.stay(home)
                return
        # A server that reports this itself reads its scenes, or renews its lease.
        if not any(failure.is_told for failure in failures) or time.monotonic() > until:
            raise failures[-1]
        time.sleep(PAUSE_S)


class Server:
    """A server, and those that it names as the owners of scenes; `palpate.connect` makes one. Its
    methods may be called from any thread.

    If several servers share scenes, each scene has one server at a time: calls and loops go there
    by themselves. While a scene passes from one server to another, calls that change nothing wait
    for it, for 10 s at most; others raise `Unavailable`, as after any lost answer.
    """

    def __init__(self, address: str, owners: Owners) -> None:
        self.address = address
        self.owners = owners
        # Open loops, which end before the connections are closed.
        self.loops: WeakSet[HapticLoop] = WeakSet()

    def create_scene(self, scene_id: str, *, durable: bool | None = None, replace: bool = False) -> Scene:
        """Creates an empty scene. `scene_id`: 1 to 64 of a-z, 0-9 and `-`.

        Args:
            durable: True: the scene survives the server. `None`: it does if the server keeps
                scenes.
            replace: a scene that has this id is deleted first.

        Raises:
            AlreadyExists: a scene has this id.
            FailedPrecondition: the scene is to be durable, and the server keeps none.
        """
        for left in range(_REPLACEMENTS_MAX if replace else 0, -1, -1):
            try:
                self.ask("CreateScene", scene_id=scene_id, durable=durable)
                break
            except AlreadyExists as taken:
                if left == 0:
                    ways = (
                        f"`scene({scene_id!r})` opens it, `create_scene({scene_id!r}, replace=True)` deletes it first"
                    )
                    said = f"{taken.message}: {ways}"
                    raise AlreadyExists(taken.call, taken.code, said, taken.field, taken.subject) from None
            # Another program may have deleted it by now.
            with suppress(NotFound):
                self.delete_scene(scene_id)
        return Scene(self, scene_id)

    def delete_scene(self, scene_id: str) -> None:
        """Deletes a scene. Loops in it end with NotFound.

        Raises:
            NotFound: the scene does not exist.
        """
        self.ask("DeleteScene", scene_id=scene_id)

    def scene(self, scene_id: str) -> Scene:
        """Opens an existing scene.

        Raises:
            NotFound: the scene does not exist.
        """
        self.ask("GetScene", scene_id=scene_id)
        return Scene(self, scene_id)

    def scenes(self) -> list[answers.Scene]:
        """Describes all scenes that the server serves now, ordered by id."""
        return [answers.Scene(raw) for raw in self.ask("ListScenes").scenes]

    def close(self) -> None:
        """Closes the connections, and all loops and streams that use them. Scenes stay."""
        for loop in list(self.loops):
            loop.close()
        self.owners.close()

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
        """Makes a call of the contract with the fields of its request and returns protobuf's own
        answer, for calls that this package has no method for. The call goes to the server that has
        the scene `scene_id`, if there is such a field. Without `timeout_s` it waits for a minute.
        """
        request = CALLS[call].request(**fields).SerializeToString()
        return self.ask_encoded(call, request, fields.get("scene_id"), timeout_s)

    def ask_encoded(self, call: str, request: bytes, scene_id: str | None, timeout_s: float | None = None) -> Any:
        """As `ask`, with an encoded request."""
        route = Route(self.owners, scene_id, call in _LOOKS, timeout_s)
        return _along(route, lambda at: at.ask(call, request, timeout_s))

    def exchange(
        self, call: str, scene_id: str, requests: Callable[[], Iterator[Any]] | None = None, **fields: Any
    ) -> list[Any]:
        """Makes a call whose request or answer is a stream and returns protobuf's own answers.

        Args:
            requests: called again for each server that is asked. None: a single request with these
                fields.
        """
        one = CALLS[call].request
        made = requests or (lambda: iter([one(scene_id=scene_id, **fields)]))
        return _along(Route(self.owners, scene_id, call in _LOOKS), lambda at: at.exchange(call, made()))


def _along(route: Route, ask: Callable[[Connection], _A]) -> _A:
    """Asks server after server until one answers, or none is left to ask."""
    while True:
        try:
            return ask(route.connection)
        except PalpateError as failure:
            if not route.goes_on(failure):
                raise
