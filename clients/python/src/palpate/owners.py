"""Which server has which scene, where several share them, and the way there."""

from __future__ import annotations

import threading
import time

from .connection import Connection, ServerAddress
from .errors import Elsewhere, PalpateError, Unavailable

# Owners that a call asks one after the other, as each names the next.
HOPS_MAX = 4
# Before a server is asked again, seconds.
PAUSE_S = 0.05
# Connections that are kept to servers which were named, more than share a folder.
_OPEN_MAX = 64
# How long a call tries while a scene passes from one server to another, seconds: longer than a lease.
_PASSING_S = 10.0


class Owners:
    """Connections to the servers that were given, and to those that they name as the owners of scenes."""

    def __init__(self, address: ServerAddress) -> None:
        self._address = address
        self._homes = address.each()
        # All below is written under this lock.
        self._changing = threading.Lock()
        self._home = 0
        # By scene, where its owner was named.
        self._named: dict[str, Connection] = {}
        # By address, the last one named last.
        self._open: dict[str, Connection] = {}
        self._is_closed = False

    def homes(self) -> list[Connection]:
        """To those that were given."""
        return self._homes

    def of(self, scene_id: str | None) -> Connection:
        """To the owner of a scene, as far as is known."""
        with self._changing:
            return self._now(scene_id)

    def go(self, scene_id: str, asked: Connection, address: str) -> None:
        """A server that was asked has named another as the scene's owner."""
        with self._changing:
            if not self._is_closed:
                # One that is left may be named again: its connection may just be being made.
                owner = self._open.pop(address, None) or self._address.at(address, asked)
                self._named[scene_id] = self._open[address] = owner
                if len(self._open) > _OPEN_MAX:
                    # It is closed when no scene, call or stream uses it.
                    del self._open[next(iter(self._open))]

    def leave(self, scene_id: str | None, left: Connection) -> bool:
        """A server does not serve the scene now: another is asked the next time. False: there is no other."""
        with self._changing:
            if self._now(scene_id) is not left:
                return True
            if scene_id is not None and scene_id in self._named:
                # Asked at home, who has it by then.
                del self._named[scene_id]
                return True
            if left.host.leave():
                # There are others behind the same address.
                return True
            self._home = (self._home + 1) % len(self._homes)
            return len(self._homes) > 1

    def stay(self, home: Connection) -> None:
        """One of those that were given answers."""
        with self._changing:
            self._home = self._homes.index(home)

    def close(self) -> None:
        """Ends all of them."""
        with self._changing:
            self._is_closed = True
            for connection in {*self._homes, *self._open.values(), *self._named.values()}:
                connection.close()

    def _now(self, scene_id: str | None) -> Connection:
        named = None if scene_id is None else self._named.get(scene_id)
        return named or self._homes[self._home]


class Route:
    """One call's way to the server that has its scene, from failure to failure."""

    def __init__(self, owners: Owners, scene_id: str | None, may_repeat: bool, within_s: float | None = None) -> None:
        """`may_repeat`: done twice it is as done once. Another that was UNAVAILABLE may have been done, and is left to
        who asked for it."""
        self._owners = owners
        self._scene_id = scene_id
        self._may_repeat = may_repeat
        self._within_s = _PASSING_S if within_s is None else min(within_s, _PASSING_S)
        self._hops = 0
        self._lost_at: float | None = None
        self.connection = owners.of(scene_id)

    def goes_on(self, failure: PalpateError) -> bool:
        """Whether the call is to be made again, over `connection`, after it failed so. Waits where that needs time."""
        if isinstance(failure, Elsewhere):
            # Nothing was done.
            if self._scene_id is None or self._hops == HOPS_MAX:
                return False
            self._owners.go(self._scene_id, self.connection, failure.address)
            # Two servers that name each other have just made a change.
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
        """The server has answered."""
        self._hops, self._lost_at = 0, None
