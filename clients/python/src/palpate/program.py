"""The server program: where it is, and a server that ends with this process."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from functools import partial
from importlib.metadata import distribution
from pathlib import Path
from typing import IO

from .connection import PathLike
from .errors import NotStarted, Unavailable
from .owners import Owners
from .server import Server, connect

_GREETING = "listening on "
# Maximum seconds of a server to end: transport.drain_max and a margin.
_END_S = 15.0


def find_program() -> Path:
    """Returns the server program: the one that the variable `PALPATE_SERVER_BIN` names, else the
    one that was installed with this package, else `palpate` on PATH.

    Raises:
        NotStarted: there is none, or the variable names no file.
    """
    named = os.environ.get("PALPATE_SERVER_BIN")
    if named:
        if not Path(named).is_file():
            raise NotStarted(f"PALPATE_SERVER_BIN names {named}, expected a server program")
        return Path(named)
    name = "palpate.exe" if os.name == "nt" else "palpate"
    # A wheel's program is in the environment's folder of scripts, beside the files of the package in the record.
    record = distribution("palpate").files or []
    found = [str(file.locate()) for file in record if file.name == name] + [shutil.which("palpate") or ""]
    for path in found:
        if Path(path).is_file():
            return Path(path)
    raise NotStarted(
        "this installation of palpate has no server program, expected one in the package, on PATH or in "
        "PALPATE_SERVER_BIN: install a wheel that contains it, or build it in Palpate's source tree "
        "(cargo build --release) and set PALPATE_SERVER_BIN to target/release/palpate"
    )


def start(
    listen: str = "127.0.0.1:0",
    *,
    data_dir: PathLike | None = None,
    settings: Mapping[str, object] | None = None,
    log: PathLike | None = None,
    key: str | None = None,
    ca: PathLike | None = None,
    certificate: PathLike | None = None,
    certificate_key: PathLike | None = None,
    timeout_s: float = 10.0,
) -> StartedServer:
    """Starts the server program on this machine and connects to it. The server ends when this
    process ends, however it ends, or earlier by `close` or a `with` statement.

    Args:
        listen: address to listen on; port 0 takes a free one. Any user of this machine may connect,
            unless the settings name keys.
        data_dir: folder of scenes and built fields, which another start continues. None: a temporary
            folder that is removed at the end.
        settings: settings of the server by the names in `palpate config check`, for example
            `{"ticks.time_max": "2ms", "metrics.listen": "127.0.0.1:9464"}`.
        log: file that receives the server's log. None: the log appears only in errors of this
            function.
        key, ca, certificate, certificate_key: as in `connect`, for a server with keys or TLS.
        timeout_s: timeout until the server answers.

    Raises:
        NotStarted: there is no server program, or it ended; the message has its own words, for
            example about a port in use, an unknown setting or a data folder that cannot be written.
        OSError: the log cannot be written.
    """
    deadline = time.monotonic() + timeout_s
    program = find_program()
    flat = {"log.format": "text", **(settings or {})}
    sets = [part for name, value in flat.items() for part in ("--set", f"{name}={_text(value)}")]
    # A temporary file is only read if the server does not start.
    with open(log, "w+") if log is not None else tempfile.TemporaryFile("w+") as errors:
        own_dir = tempfile.mkdtemp(prefix="palpate-") if data_dir is None else None
        folder = str(own_dir or data_dir)
        command = [str(program), "serve", "--until-stdin-closes", "--listen", listen, "--data-dir", folder, *sets]
        process: subprocess.Popen[str] | None = None
        try:
            process = _spawn(command, errors)
            address = _greeting(process, errors, deadline)
            credentials = partial(connect, key=key, ca=ca, certificate=certificate, certificate_key=certificate_key)
            owners = _connected(process, errors, deadline, partial(credentials, address))
        except BaseException:
            _stop(process, own_dir, os.getpid())
            raise
    return StartedServer(address, owners, process, own_dir)


class StartedServer(Server):
    """A server that `palpate.start` has started; it ends with this object or this process.

    A forked process that outlives this one keeps the server running until it ends too.

    Attributes:
        pid: process id of the server.
    """

    def __init__(self, address: str, owners: Owners, process: subprocess.Popen[str], own_dir: str | None) -> None:
        super().__init__(address, owners)
        self.pid = process.pid
        # Also called at the end of the interpreter, if nobody has closed the server.
        self._stop = weakref.finalize(self, _stop, process, own_dir, os.getpid())

    def __enter__(self) -> StartedServer:
        return self

    def close(self) -> None:
        """Closes the connections, and stops the server in order. Scenes stay in a given data folder."""
        super().close()
        self._stop()


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _spawn(command: list[str], errors: IO[str]) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    try:
        # A group of its own: a Ctrl-C of this program does not end the server first.
        if sys.platform == "win32":
            group = subprocess.CREATE_NEW_PROCESS_GROUP
            return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=errors, text=True, creationflags=group)
        return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=errors, text=True, start_new_session=True)
    except OSError as error:
        raise NotStarted(f"the server program {command[0]} cannot be run: {error}") from error


def _greeting(process: subprocess.Popen[str], errors: IO[str], deadline: float) -> str:
    """Returns the address that the server prints once its ports and folders are available."""
    assert process.stdout is not None
    # A read of a pipe has no timeout; it ends when the process does.
    timer = threading.Timer(max(0.0, deadline - time.monotonic()), process.kill)
    timer.start()
    try:
        line = process.stdout.readline()
    finally:
        timer.cancel()
    if not line.startswith(_GREETING):
        raise _ended(process, errors)
    return line.removeprefix(_GREETING).strip()


def _connected(
    process: subprocess.Popen[str], errors: IO[str], deadline: float, connect: Callable[..., Server]
) -> Owners:
    """Returns connections to the server, once it has read its scenes."""
    while True:
        try:
            return connect(timeout_s=max(0.1, deadline - time.monotonic())).owners
        except Unavailable:
            if process.poll() is not None:
                raise _ended(process, errors) from None
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def _ended(process: subprocess.Popen[str], errors: IO[str]) -> NotStarted:
    process.kill()
    process.wait()
    errors.seek(0)
    lines = errors.read().splitlines()
    # The program's last words; without them, the end of its log.
    words = [line for line in lines if line.startswith(("palpate: ", "error: "))] or lines[-5:]
    return NotStarted("the server did not start: " + ("\n".join(words) or "it said nothing in time"))


def _stop(process: subprocess.Popen[str] | None, own_dir: str | None, owner: int) -> None:
    # A forked process has copies of all this, and its end is not that of the server.
    if os.getpid() != owner:
        return
    if process is not None:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.close()
        try:
            process.wait(_END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
    if own_dir is not None:
        shutil.rmtree(own_dir, ignore_errors=True)
