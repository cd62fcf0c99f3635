"""A server that a program starts, and what is left of it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from importlib.metadata import distribution
from pathlib import Path

import pytest
from support import SERVER_BIN, DevCertificates, octahedron

import palpate

# Starts a server, prints its process id, address and data folder, and then does as it is told.
CHILD = """
import os, sys, tempfile, palpate
tempfile.tempdir = sys.argv[1]
server = palpate.start()
server.create_scene("of-a-child")
print(server.pid, server.address, flush=True)
if sys.argv[2] == "wait":
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALPATE_SERVER_BIN", str(SERVER_BIN))


@pytest.fixture(autouse=True)
def _leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    """No test leaves a process or a temporary folder."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    others = _children()
    yield None
    assert _children() <= others, "a process is left"
    assert os.listdir(tmp_path / "temporary") == [], "a folder is left"


def _children() -> set[str]:
    found = set()
    for task in Path("/proc/self/task").iterdir():
        # A thread may have ended since it was listed.
        with suppress(FileNotFoundError):
            found |= set((task / "children").read_text().split())
    return found


def _listens(address: str) -> bool:
    host, port = address.rsplit(":", 1)
    try:
        socket.create_connection((host, int(port)), timeout=1).close()
    except OSError:
        return False
    return True


def _ends(address: str) -> bool:
    """Waits until a server listens no more."""
    until = time.monotonic() + 20
    while _listens(address) and time.monotonic() < until:
        time.sleep(0.01)
    return not _listens(address)


def test_started_server_has_contacts_and_ends_with_its_block() -> None:
    with palpate.start(settings={"limits.scenes": 3, "store.scenes": False}) as server:
        scene = server.create_scene("first")
        scene.add_tissue("organ", octahedron(0.05))
        probe = scene.add_tool("probe", octahedron(0.005))
        with scene.track([probe]) as loop:
            links = [loop.tick([0, 0, z]).links[0] for z in (0.06, 0.054)]
        assert [len(link.contacts.contact_ids) > 0 for link in links] == [False, True]
        assert links[1].signed_distance_m == pytest.approx(-0.001 / 3**0.5, abs=1e-6)
        # A Ctrl-C of this program's terminal does not reach the server.
        assert os.getsid(server.pid) != os.getsid(0)
        assert isinstance(server, palpate.Server) and _listens(server.address)
    assert not _listens(server.address)
    server.close()


def test_given_data_folder_keeps_scenes_and_log(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    for scenes in ([], ["kept"]):
        with palpate.start(data_dir=tmp_path / "data", log=log) as server:
            assert [scene.scene_id for scene in server.scenes()] == scenes
            if not scenes:
                server.create_scene("kept", durable=True)
    assert "shutting down" in log.read_text()


def test_server_with_tls_and_keys(tmp_path: Path) -> None:
    certificates = DevCertificates(tmp_path)
    settings = dict(setting.split("=", 1) for setting in certificates.settings)
    with palpate.start(settings=settings, ca=certificates.ca, key=certificates.key) as server:
        assert server.scenes() == []
    with pytest.raises(palpate.Unauthenticated):
        palpate.start(settings=settings, ca=certificates.ca, key="0123456789abcdef")


def test_server_ends_if_its_owner_is_forgotten() -> None:
    server = palpate.start()
    address = server.address
    del server
    assert _ends(address)


@pytest.mark.parametrize("end", ["exit", "interrupt", "kill"])
def test_server_ends_however_its_program_ends(tmp_path: Path, end: str) -> None:
    folder = tmp_path / "child"
    folder.mkdir()
    command = [sys.executable, "-c", CHILD, str(folder), "exit" if end == "exit" else "wait"]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, stderr=subprocess.PIPE)
    assert child.stdout is not None
    _, address = child.stdout.readline().split()
    if end != "exit":
        child.send_signal(signal.SIGINT if end == "interrupt" else signal.SIGKILL)
    child.communicate(timeout=30)
    assert _ends(address)
    # Only a program that is killed cannot remove its folder.
    assert bool(os.listdir(folder)) == (end == "kill")


def test_errors_are_those_of_the_server(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(palpate.NotStarted, match=f"{address}.*in use"):
            palpate.start(address)
    with pytest.raises(palpate.NotStarted, match="ticks.time_maks.*did you mean .ticks.time_max"):
        palpate.start(settings={"ticks.time_maks": "2ms"})
    with pytest.raises(palpate.NotStarted, match="sessions.grace.*a unit"):
        palpate.start(settings={"sessions.grace": 3})
    (tmp_path / "file").write_text("")
    with pytest.raises(palpate.NotStarted, match=str(tmp_path / "file")):
        palpate.start(data_dir=tmp_path / "file")
    with pytest.raises(OSError, match="nowhere"):
        palpate.start(log=tmp_path / "nowhere" / "log")


def test_programs_that_do_not_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def becomes(text: str, mode: int = 0o755) -> None:
        program = tmp_path / "palpate"
        program.write_text(text)
        program.chmod(mode)
        monkeypatch.setenv("PALPATE_SERVER_BIN", str(program))

    becomes("#!/bin/sh\necho 'palpate: no luck' >&2\nexit 3\n")
    with pytest.raises(palpate.NotStarted, match="no luck"):
        palpate.start()
    becomes("#!/bin/sh\nexec /bin/sleep 60\n")
    with pytest.raises(palpate.NotStarted, match="said nothing"):
        palpate.start(timeout_s=0.3)
    becomes("no program", 0o644)
    with pytest.raises(palpate.NotStarted, match="cannot be run"):
        palpate.start()
    monkeypatch.setenv("PALPATE_SERVER_BIN", str(tmp_path / "nowhere"))
    with pytest.raises(palpate.NotStarted, match="PALPATE_SERVER_BIN names .*nowhere"):
        palpate.start()


def test_program_is_found_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert palpate.find_program() == SERVER_BIN
    done = subprocess.run([sys.executable, "-m", "palpate", "--version"], capture_output=True, text=True)
    assert done.stdout.startswith(f"palpate {palpate.__version__}\n"), done.stderr
    monkeypatch.delenv("PALPATE_SERVER_BIN")
    monkeypatch.setenv("PATH", str(tmp_path))
    if any(file.name == "palpate" for file in distribution("palpate").files or ()):
        # This package was installed from a wheel with a program.
        assert palpate.find_program().resolve() == Path(sys.prefix, "bin", "palpate").resolve()
        return
    with pytest.raises(palpate.NotStarted, match="cargo build --release"):
        palpate.start()
    done = subprocess.run([sys.executable, "-m", "palpate", "--version"], capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.startswith("palpate: this installation")
    (tmp_path / "palpate").symlink_to(SERVER_BIN)
    assert palpate.find_program() == tmp_path / "palpate"
