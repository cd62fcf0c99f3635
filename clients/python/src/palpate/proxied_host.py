"""Which of several servers behind one proxy (`deploy/envoy`) calls go to."""

from __future__ import annotations

import base64
import re
import threading
from collections.abc import Iterable

# By this header such a proxy says which server answered, and is told where a call has to go.
_HOST = "palpate-host"
# What Envoy knows servers by.
_IP_AND_PORT = re.compile(r"[0-9.]+:[0-9]+|\[[0-9a-f:.]+\]:[0-9]+")


class ProxiedHost:
    """The server that a connection's calls go to: that of its first good answer, or the owner that was named of a
    scene. While that one does not serve, whoever the proxy chooses."""

    def __init__(self, heard: str | None = None, kept: str | None = None) -> None:
        # All below is written under this lock.
        self._changing = threading.Lock()
        # Of the newest answer, good or not. None: there is no such proxy, as far as is known.
        self._heard = heard
        self._kept = kept
        # The one that is kept does not serve now.
        self._is_left = False

    def header(self) -> tuple[tuple[str, str], ...]:
        """What a call brings."""
        with self._changing:
            return () if self._kept is None or self._is_left else ((_HOST, self._kept),)

    def hear(self, metadata: Iterable[tuple[str, str | bytes]] | None) -> None:
        """Notes where an answer comes from that may be a refusal yet."""
        for name, value in metadata or ():
            if name == _HOST and isinstance(value, str):
                with self._changing:
                    self._heard = value

    def keep(self) -> None:
        """The answer heard last is a good one: calls go on to where it comes from, unless they have gone elsewhere."""
        with self._changing:
            if self._heard is not None and (self._kept is None or self._is_left):
                self._kept, self._is_left = self._heard, False

    def leave(self) -> bool:
        """A call found nobody: the next one goes to whoever the proxy chooses, and if it was one of those, back to the
        server that is kept. False: there is no proxy."""
        with self._changing:
            if self._heard is None:
                return False
            self._is_left = not self._is_left
            return True

    def go_back(self) -> bool:
        """Whoever the proxy chose knows nothing of what was asked, which says nothing where servers share no scenes:
        back to the server that is kept. False: that one itself was asked."""
        with self._changing:
            was_left, self._is_left = self._is_left, False
            return was_left and self._kept is not None

    def of_owner(self, host_and_port: str) -> ProxiedHost | None:
        """Behind the same proxy the server that was named as a scene's owner. A proxy knows servers by their IP
        addresses: of another name any of them is asked. None: there is no proxy."""
        with self._changing:
            if self._heard is None:
                return None
            is_known = _IP_AND_PORT.fullmatch(host_and_port)
            # As Envoy's stateful session has it (HeaderBasedSessionState).
            kept = base64.b64encode(host_and_port.encode()).decode() if is_known else None
            return ProxiedHost(self._heard, kept)
