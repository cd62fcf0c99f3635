"""Owners of scenes, if several servers share scenes, and the routes of calls to them."""

from __future__ import annotations

import threading
import time

from .connection import Connection, ServerAddress
from .errors import Elsewhere, PalpateError, Unavailable

# Maximum number of owners that a call tries in turn, if each names the next.
HOPS_MAX = 4
# Pause before a server is called again, in seconds.
PAUSE_S = 0.05
# Maximum number of open connections to named servers: more servers than share a folder.
_OPEN_MAX = 64
# Time that a call retries while a scene moves from one server to another, in seconds: longer than a lease.
_PASSING_S = 10.0


class Owners:
    """Connections to the given servers, and to those that they name as the owners of scenes."""

    def __init__(self, address: ServerAddress) -> None:
        self.address = address
        self._homes = address.each()
        # This lock guards all writes to the fields below.
        self._changing = threading.Lock()
        self._home = 0
        # Connection to the named owner, by scene id.
        self._named: dict[str, Connection] = {}
        # Connections by address, the most recently named last.
        self._open: dict[str, Connection] = {}
        self._is_closed = False

    def homes(self) -> list[Connection]:
        """Connections to the given servers."""
        return self._homes

    def of(self, scene_id: str | None) -> Connection:
        """Connection to the owner of a scene, as far as it is known."""
        with self._changing:
            return self._now(scene_id)

    def go(self, scene_id: str, asked: Connection, address: str) -> None:
        """Records that a server named another as the scene's owner."""
        with self._changing:
            if not self._is_closed:
                # The connection is reused if its server was left and is named again: it may still be connecting.
                owner = self._open.pop(address, None) or self.address.at(address, asked)
                self._named[scene_id] = self._open[address] = owner
                if len(self._open) > _OPEN_MAX:
                    # The connection is closed when no scene, call or stream uses it.
                    del self._open[next(iter(self._open))]

    def leave(self, scene_id: str | None, left: Connection) -> bool:
        """Records that a server does not serve the scene now: the next call goes to another server.
        Returns False if there is no other.
        """
        with self._changing:
            if self._now(scene_id) is not left:
                return True
            if scene_id is not None and scene_id in self._named:
                # The given servers then name the scene's new owner.
                del self._named[scene_id]
                return True
            if left.host.leave():
                # The proxy has other servers behind the same address.
                return True
            self._home = (self._home + 1) % len(self._homes)
            return len(self._homes) > 1

    def stay(self, home: Connection) -> None:
        """Records that one of the given servers answers."""
        with self._changing:
            self._home = self._homes.index(home)

    def close(self) -> None:
        """Closes all connections."""
        with self._changing:
            self._is_closed = True
            for connection in {*self._homes, *self._open.values(), *self._named.values()}:
                connection.close()

    def _now(self, scene_id: str | None) -> Connection:
        named = None if scene_id is None else self._named.get(scene_id)
        return named or self._homes[self._home]


class Route:
    """Route of one call to the server that has its scene, from failure to failure."""

    def __init__(self, owners: Owners, scene_id: str | None, may_repeat: bool, within_s: float | None = None) -> None:
        """`may_repeat`: a second execution has no further effect. Any other call that ended with
        UNAVAILABLE may have been executed; the caller decides whether to repeat it.
        """
        self._owners = owners
        self._scene_id = scene_id
        self._may_repeat = may_repeat
        self._within_s = _PASSING_S if within_s is None else min(within_s, _PASSING_S)
        self._hops = 0
        self._lost_at: float | None = None
        self.connection = owners.of(scene_id)

    def goes_on(self, failure: PalpateError) -> bool:
        """Returns True if the call is to be made again, over `connection`, after this failure.
        Waits if that needs time.
        """
        if isinstance(failure, Elsewhere):
            # The server has not executed the call.
            if self._scene_id is None or self._hops == HOPS_MAX:
                return False
            self._owners.go(self._scene_id, self.connection, failure.address)
            # Two servers name each other just after a change of owner.
            pause_s = PAUSE_S if self._hops > 0 else 0.0
            self._hops += 1
        elif isinstance(failure, Unavailable):
            is_another = self._owners.leave(self._scene_id, self.connection)
            now = time.monotonic()
            self._lost_at = now if self._lost_at is None else self._lost_at
            may_be_served = is_another or failure.is_told
            if not self._may_repeat or not may_be_served or now - self._lost_at > self._within_s:
                return False
            self._hops, pause_s = 0, PAUSE_S
        else:
            return False
        time.sleep(pause_s)
        self.connection = self._owners.of(self._scene_id)
        return True

    def arrived(self) -> None:
        """Records that the server has answered."""
        self._hops, self._lost_at = 0, None
