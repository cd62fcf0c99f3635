"""Choice among several servers behind one proxy (`deploy/envoy`)."""

from __future__ import annotations

import base64
import re
import threading
from collections.abc import Iterable

# Header in which a proxy names the server that answered, and a client the server that its call has to reach.
_HOST = "palpate-host"
# Form in which Envoy identifies servers.
_IP_AND_PORT = re.compile(r"[0-9.]+:[0-9]+|\[[0-9a-f:.]+\]:[0-9]+")


class ProxiedHost:
    """The server that a connection's calls go to: that of its first good answer, or the server
    named as a scene's owner. While that server does not serve, the proxy chooses.
    """

    def __init__(self, heard: str | None = None, kept: str | None = None) -> None:
        # This lock guards all writes to the fields below.
        self._changing = threading.Lock()
        # Server of the newest answer, good or not; None if no such proxy is known.
        self._heard = heard
        self._kept = kept
        # True if the kept server does not serve now.
        self._is_left = False

    def header(self) -> tuple[tuple[str, str], ...]:
        """Returns the header of a call."""
        with self._changing:
            return () if self._kept is None or self._is_left else ((_HOST, self._kept),)

    def hear(self, metadata: Iterable[tuple[str, str | bytes]] | None) -> None:
        """Records the server that sent an answer, which may still be a refusal."""
        for name, value in metadata or ():
            if name == _HOST and isinstance(value, str):
                with self._changing:
                    self._heard = value

    def keep(self) -> None:
        """Records that the newest answer is a good one: calls keep going to its server, unless they
        have gone elsewhere.
        """
        with self._changing:
            if self._heard is not None and (self._kept is None or self._is_left):
                self._kept, self._is_left = self._heard, False

    def leave(self) -> bool:
        """Records that no server answered a call: the proxy chooses the server of the next call,
        or, if it chose this one, the next call returns to the server that is kept. Returns False if
        there is no proxy.
        """
        with self._changing:
            if self._heard is None:
                return False
            self._is_left = not self._is_left
            return True

    def go_back(self) -> bool:
        """Returns to the server that is kept if the server that the proxy chose does not know the
        requested scene, which proves nothing if servers do not share scenes. Returns False if the
        kept server itself was asked.
        """
        with self._changing:
            was_left, self._is_left = self._is_left, False
            return was_left and self._kept is not None

    def of_owner(self, host_and_port: str) -> ProxiedHost | None:
        """Returns the host, behind the same proxy, of the server named as a scene's owner. A proxy
        knows servers by their IP addresses: for any other name the proxy chooses. None: there is no
        proxy.
        """
        with self._changing:
            if self._heard is None:
                return None
            is_known = _IP_AND_PORT.fullmatch(host_and_port)
            # Encoded as by Envoy's stateful session (HeaderBasedSessionState).
            kept = base64.b64encode(host_and_port.encode()).decode() if is_known else None
            return ProxiedHost(self._heard, kept)
