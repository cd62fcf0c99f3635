"""Dead servers, wrong keys, refused meshes: each by its own exception, with what was got and expected."""

from __future__ import annotations

import socket
from pathlib import Path

import numpy as np
import pytest
from support import DevCertificates, ServerProgram, octahedron

import palpate


def test_nobody_is_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with pytest.raises(palpate.Unavailable, match=f"at 127.0.0.1:{port}: .*refused"):
        palpate.connect(f"127.0.0.1:{port}")
    with pytest.raises(ValueError, match="begins with ftp://"):
        palpate.connect("ftp://127.0.0.1:1")
    for address in ("127.0.0.1", "https://localhost", "[::1]", "127.0.0.1:7447, localhost", "::1:7447", "host:99999"):
        with pytest.raises(ValueError, match="has no port, expected host:port"):
            palpate.connect(address)


def test_what_was_refused_is_named(scene: palpate.Scene) -> None:
    positions, triangles = octahedron(0.05)
    with pytest.raises(palpate.AlreadyExists) as taken:
        scene.server.create_scene(scene.id)
    assert taken.value.subject == "scene" and taken.value.code == "ALREADY_EXISTS"
    with pytest.raises(palpate.InvalidArgument) as refused:
        scene.server.create_scene("Theatre 1")
    assert refused.value.field == "scene_id" and "expected a-z" in refused.value.message
    with pytest.raises(palpate.InvalidArgument) as refused:
        scene.add_tissue("organ", (positions, [[0, 1, 77]]))
    assert refused.value.field == "header.mesh"
    assert "triangles[0][2] = 77, expected < 6" in refused.value.message
    with pytest.raises(palpate.InvalidArgument, match="positions.0..x is NaN"):
        scene.add_tool("probe", (positions * np.nan, triangles))
    with pytest.raises(palpate.InvalidArgument, match="70000 entries, expected at most 65536"):
        scene.query_distances(np.zeros((70_000, 3)))
    with pytest.raises(ValueError, match=r"triangles has the shape \(8,\), expected \(n, 3\)"):
        scene.add_tissue("organ", (positions, triangles[:, 0]))
    assert not scene.tissues()


def test_a_server_that_ends_is_unavailable(tmp_path: Path) -> None:
    program = ServerProgram(tmp_path)
    server = palpate.connect(program.address)
    scene = server.create_scene("short")
    tissue = scene.add_tissue("organ", octahedron(0.05))
    tissue.deform(octahedron(0.05)[0])
    program.end()
    with pytest.raises(palpate.Unavailable, match=program.address):
        server.scenes()
    with pytest.raises(palpate.Unavailable):
        tissue.deform(octahedron(0.05)[0])
    with pytest.raises(ZeroDivisionError), scene:
        # This error is raised, not that of the failed deletion.
        raise ZeroDivisionError
    server.close()


def test_keys_and_certificates(tmp_path: Path) -> None:
    made = DevCertificates(tmp_path)
    program = ServerProgram(tmp_path, *made.settings, "limits.scenes=1")
    try:
        with palpate.connect(program.address, key=made.key, ca=made.ca) as server:
            with server.create_scene("kept") as scene:
                scene.add_tissue("organ", octahedron(0.05))
                with pytest.raises(palpate.ResourceExhausted) as full:
                    server.create_scene("second")
                assert full.value.subject == "scenes"
        with pytest.raises(palpate.Unauthenticated, match="ListScenes"):
            palpate.connect(program.address, key="not this one, but as long", ca=made.ca)
        with pytest.raises(palpate.Unauthenticated):
            palpate.connect(program.address, ca=made.ca)
        with pytest.raises(palpate.Unavailable, match=r"\(if it has TLS, give https:// or ca=...\)"):
            palpate.connect(program.address, key=made.key)
        # The client does not trust the server's certificate.
        with pytest.raises(palpate.Unavailable, match="(?i)certificate|handshake"):
            palpate.connect(f"https://{program.address}", key=made.key)
        with pytest.raises(FileNotFoundError):
            palpate.connect(program.address, key=made.key, ca=tmp_path / "gone.pem")
    finally:
        program.end()
