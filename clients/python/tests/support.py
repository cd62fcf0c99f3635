"""What the tests share: the server program, shapes, and a connection that can be cut."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import palpate

CLIENT = Path(__file__).resolve().parent.parent
REPOSITORY = CLIENT.parent.parent
SERVER_BIN = Path(os.environ.get("PALPATE_SERVER_BIN") or REPOSITORY / "target/release/palpate")

# True if this process can have the engine.
HAS_ENGINE = "PALPATE_LIBRARY" in os.environ or (Path(palpate.__file__).parent / "libpalpate_c.so").exists()

CORNERS = np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]], np.float64)
SIDES = np.array([[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]])


class DevCertificates:
    """Certificates and a key of `deploy/dev-certificates.sh`: what a server is set to, and what a client is given."""

    def __init__(self, folder: Path) -> None:
        if shutil.which("openssl") is None:
            pytest.skip("openssl is not installed")
        made = folder / "made"
        subprocess.run([REPOSITORY / "deploy" / "dev-certificates.sh", made], check=True, capture_output=True)
        files = made / "server"
        self.settings = (
            f"access.keys_file={files / 'keys.toml'}",
            f"access.certificate_file={files / 'server.pem'}",
            f"access.private_key_file={files / 'server.key'}",
        )
        self.ca = made / "client" / "ca.pem"
        self.key = (made / "client" / "key").read_text().strip()


class ServerProgram:
    """The real server on a free port of this machine. `log`: of one of several with the same folder."""

    def __init__(self, folder: Path, *settings: str, log: str = "server.log") -> None:
        if not SERVER_BIN.exists():
            pytest.fail(f"{SERVER_BIN} is not there: build it, or set PALPATE_SERVER_BIN")
        sets = [argument for setting in settings for argument in ("--set", setting)]
        command = [str(SERVER_BIN), "serve", "--listen", "127.0.0.1:0", "--data-dir", str(folder), *sets]
        self._log = (folder / log).open("w")
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self._log, text=True)
        assert self._process.stdout is not None
        said = self._process.stdout.readline()
        if not said.startswith("listening on "):
            pytest.fail(f"the server said {said!r}; its log: {(folder / log).read_text()}")
        self.address = said.removeprefix("listening on ").strip()

    def stop(self) -> None:
        """Stops it where it is."""
        self._process.send_signal(signal.SIGSTOP)
        # A signal arrives with a delay: waits until the process has stopped.
        os.waitpid(self._process.pid, os.WUNTRACED)

    def go_on(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """Ends it where it is."""
        self._process.kill()
        self._process.wait()

    def end(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        self._process.communicate(timeout=20)
        self._log.close()


class CutConnection:
    """A proxy in front of a server, which can cut all connections through it."""

    def __init__(self, address: str) -> None:
        host, port = address.rsplit(":", 1)
        self._server = (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._open: list[socket.socket] = []
        self._may_pass = threading.Event()
        self._may_pass.set()
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Ends all connections, and refuses others until `mend`."""
        self._may_pass.clear()
        for connection in self._open:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self._open.clear()

    def mend(self) -> None:
        self._may_pass.set()

    def close(self) -> None:
        # shutdown wakes the accepting thread; close alone does not.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if not self._may_pass.is_set():
                client.close()
                continue
            server = socket.create_connection(self._server)
            for one in (client, server):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._open.append(one)
            for pair in ((client, server), (server, client)):
                threading.Thread(target=self._carry, args=pair, daemon=True).start()

    def _carry(self, source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(1 << 16):
                target.sendall(data)
        except OSError:
            pass
        for one in (source, target):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        # The thread of the other direction closes the other socket.
        source.close()


def octahedron(radius_m: float) -> tuple[Any, Any]:
    return radius_m * CORNERS, SIDES


def block(size_m: tuple[float, float, float], cells: tuple[int, int, int]) -> tuple[Any, Any]:
    """The surface of a block whose top is at z = 0, its quadrilaterals cut in two, outwards."""
    points: dict[tuple[int, ...], int] = {}
    triangles = []
    for axis in range(3):
        u, v = (axis + 1) % 3, (axis + 2) % 3
        for side in (0, cells[axis]):
            for i in range(cells[u]):
                for j in range(cells[v]):
                    corners = []
                    for di, dj in ((0, 0), (1, 0), (1, 1), (0, 1)):
                        at = [0, 0, 0]
                        at[axis], at[u], at[v] = side, i + di, j + dj
                        corners.append(points.setdefault(tuple(at), len(points)))
                    if side == 0:
                        corners.reverse()
                    a, b, c, d = corners
                    triangles += [[a, b, c], [a, c, d]]
    grid = np.array(list(points), np.float64) / cells
    return (grid - (0.5, 0.5, 1.0)) * size_m, np.array(triangles)


def slab() -> tuple[Any, Any]:
    """A slab of 20 x 20 x 4 cm whose top is the plane z = 0."""
    positions, triangles = block((0.2, 0.2, 0.04), (8, 8, 2))
    return positions - [0.0, 0.0, positions[:, 2].max()], triangles
