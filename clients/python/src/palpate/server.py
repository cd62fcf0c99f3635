"""A server, or several that share scenes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakSet

from . import answers
from .connection import Connection, PathLike, ServerAddress
from .contract import CALLS
from .errors import PalpateError, Unavailable
from .owners import Owners, Route
from .scene import Scene

if TYPE_CHECKING:
    from .haptic_loop import HapticLoop

_A = TypeVar("_A")

# What changes nothing, and is asked again where the answer was lost.
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
    """Connects, and asks the server one thing, so that a wrong address or key is told here.

    Args:
        address: `host:port`, `http://host:port`, `https://host:port` or `unix:/path`; several with commas between them,
            where servers share scenes: each is tried in turn.
        key: the API key, where the server has keys.
        ca: PEM file of the authority that vouches for the server. With it, or with `https`, the connection has TLS.
        certificate, certificate_key: PEM files that are shown to a server which asks who calls.
        timeout_s: for each of them.

    Raises:
        Unavailable: nobody answers there, or the certificates do not fit.
        Unauthenticated: no key, or one that the server does not know.
        OSError: a file cannot be read.
        ValueError: the address has no port, or another scheme; a certificate is given without its key; or the key is
            none.
    """
    servers = ServerAddress(address, key, ca, certificate, certificate_key)
    owners = Owners(servers)
    nobody: Unavailable | None = None
    request = CALLS["ListScenes"].request().SerializeToString()
    try:
        for home in owners.homes():
            try:
                home.ask("ListScenes", request, timeout_s)
            except Unavailable as error:
                nobody = error
            else:
                owners.stay(home)
                return Server(address, owners)
        assert nobody is not None
        # What a server with TLS does about a call without, and not only that.
        if not servers.has_tls and re.search("Socket closed|Connection reset", str(nobody)):
            nobody = Unavailable(f"{nobody} (if it has TLS, give https:// or ca=...)", nobody.is_told)
        raise nobody
    except BaseException:
        owners.close()
        raise


class Server:
    """A server, and those that it names as the owners of scenes; `palpate.connect` makes one. Its methods may be called
    from any thread.

    Where several servers share scenes, each scene is one server's at a time: calls and loops go there by themselves.
    While a scene passes from one to another, calls that change nothing wait for it, for 10 s at most; others raise
    `Unavailable`, as after any lost answer.
    """

    def __init__(self, address: str, owners: Owners) -> None:
        self.address = address
        self.owners = owners
        # Those that are open, to be ended before the connections are.
        self.loops: WeakSet[HapticLoop] = WeakSet()

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
        """Describes all scenes that the server serves now, ordered by id."""
        return [answers.Scene(raw) for raw in self.ask("ListScenes").scenes]

    def close(self) -> None:
        """Ends the connections, and all loops and streams that use them. Scenes stay."""
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
        """One call of the contract with the fields of its request: protobuf's own answer. What this package has no
        method for can be asked so. It goes to the server that has the scene `scene_id`, where there is such a field.
        Without `timeout_s` it waits for a minute.
        """
        request = CALLS[call].request(**fields).SerializeToString()
        return self.ask_encoded(call, request, fields.get("scene_id"), timeout_s)

    def ask_encoded(self, call: str, request: bytes, scene_id: str | None, timeout_s: float | None = None) -> Any:
        """The same with a request that is encoded already."""
        route = Route(self.owners, scene_id, call in _LOOKS, timeout_s)
        return _along(route, lambda at: at.ask(call, request, timeout_s))

    def exchange(
        self, call: str, scene_id: str, requests: Callable[[], Iterator[Any]] | None = None, **fields: Any
    ) -> list[Any]:
        """A call whose request or answer is a stream: protobuf's own answers.

        Args:
            requests: made anew for each server that is asked. None: one of these fields.
        """
        one = CALLS[call].request
        made = requests or (lambda: iter([one(scene_id=scene_id, **fields)]))
        return _along(Route(self.owners, scene_id, call in _LOOKS), lambda at: at.exchange(call, made()))


def _along(route: Route, ask: Callable[[Connection], _A]) -> _A:
    """Asks server after server until one answers, or there is none to ask."""
    while True:
        try:
            return ask(route.connection)
        except PalpateError as failure:
            if not route.goes_on(failure):
                raise
