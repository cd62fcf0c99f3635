"""Ctrl-C wherever it comes, what a callback raises, and errors that are raised again and again or sent elsewhere."""

from __future__ import annotations

import os
import pickle
import random
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support import ServerProgram, octahedron

import palpate

ABOVE = (0, 0, 0.1)


def _is_done_within(seconds: float, work: Callable[[], object]) -> bool:
    """Also when it never ends. What it raises is no answer."""
    done: list[object] = []
    thread = threading.Thread(target=lambda: done.append(work()), daemon=True)
    thread.start()
    thread.join(seconds)
    return bool(done)


def _closed(server: palpate.Server) -> bool:
    server.close()
    return True


@pytest.mark.skipif(os.name == "nt", reason="a process cannot interrupt itself")
def test_an_interrupt_leaves_the_connection_as_it_was(tmp_path: Path) -> None:
    # A server and a connection of its own: a hang here affects no other test.
    program = ServerProgram(tmp_path)
    server = palpate.connect(program.address)
    scene = server.create_scene("interrupted")
    scene.add_tissue("organ", octahedron(0.05))
    tool = scene.add_tool("probe", octahedron(0.005))
    loop = scene.track([tool])
    points = np.zeros((100, 3))
    seed = int(os.environ.get("PALPATE_SEED") or 8)
    print(f"PALPATE_SEED={seed}")
    moment = random.Random(seed)
    # A shell makes its background processes ignore SIGINT.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        n_raised = 0
        for n in range(60):
            timer = threading.Timer(moment.uniform(0.002, 0.03), os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            until = time.monotonic() + 1
            try:
                # Within a finalizer Python prints an interrupt and continues.
                while time.monotonic() < until:
                    scene.query_distances(points)
                    scene.tissues()["organ"].export()
            except KeyboardInterrupt:
                n_raised += 1
            assert _is_done_within(5, server.scenes), f"after {n + 1} interrupts"
            assert _is_done_within(5, lambda: loop.tick(ABOVE, 4)), f"after {n + 1} interrupts"
        assert n_raised > 40
        assert _is_done_within(5, lambda: _closed(server))
    finally:
        signal.signal(signal.SIGINT, before)
        program.end()


def test_a_callback_that_exits_ends_the_loop(scene: palpate.Scene) -> None:
    tool = scene.add_tool("probe", octahedron(0.005))
    loop = scene.track([tool], on_answer=lambda _: sys.exit("enough"))
    loop.send(ABOVE)
    with pytest.raises(SystemExit, match="enough"):
        loop.wait()
    assert not loop.is_connected
    with pytest.raises(ValueError):
        scene.track([tool], reconnect_s="long")  # type: ignore[arg-type]


def test_an_error_holds_nothing_of_those_who_met_it(scene: palpate.Scene) -> None:
    tool = scene.add_tool("probe", octahedron(0.005))
    with scene.track([tool]) as loop:
        with pytest.raises(ValueError, match="no tick was sent"):
            loop.wait()
        loop.tick(ABOVE)
        tool.remove()
        scene.server.ask("DeleteScene", scene_id=scene.id)
        depths = set()
        for _ in range(100):
            try:
                loop.tick(ABOVE, 5)
            except palpate.PalpateError as error:
                depth, frame = 0, error.__traceback__
                while frame is not None:
                    depth, frame = depth + 1, frame.tb_next
                depths.add(depth)
        assert max(depths) < 10
    # The fixture deletes this scene.
    scene.server.create_scene(scene.id)


def test_an_error_goes_to_another_process(scene: palpate.Scene) -> None:
    with pytest.raises(palpate.NotFound) as unknown:
        scene.server.scene("nowhere")
    moved = palpate.errors.Elsewhere("GetScene", "FAILED_PRECONDITION", "there", "10.0.0.1:7447")
    for error in (unknown.value, palpate.Unavailable("gone", is_told=True), moved, palpate.Closed("over")):
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))


def test_what_is_of_another_scene_is_refused_here(scene: palpate.Scene, server: palpate.Server) -> None:
    with server.create_scene("another") as other:
        mesh = octahedron(0.05)
        own = scene.add_tool("probe", mesh)
        tissue, tool = other.add_tissue("organ", mesh), other.add_tool("probe", mesh)
        asked: list[Callable[[], object]] = [
            lambda: scene.query_distances([ABOVE], tissue),
            lambda: scene.query_distances([ABOVE], (tool, 0, ABOVE)),
            lambda: scene.query_contacts(tool, ABOVE),
            lambda: scene.self_collisions([tissue]),
            lambda: scene.track([tool]),
            lambda: scene.track([own], render=[tool]),
            lambda: scene.deformations().send(tissue, mesh[0]),
        ]
        for ask in asked:
            with pytest.raises(ValueError, match="of scene 'another', expected one of scene"):
                ask()
        with scene.track([own]) as loop, pytest.raises(ValueError, match="of scene 'another'"):
            loop.send({tool: ABOVE})


def test_arguments_are_told_as_what_they_are(scene: palpate.Scene) -> None:
    mesh = octahedron(0.05)
    wrong: list[tuple[type[Exception], str | None, Callable[[], object]]] = [
        (TypeError, None, lambda: scene.add_tissue(5, mesh)),  # type: ignore[arg-type]
        (ValueError, None, lambda: scene.add_tool("probe", mesh, probes=[palpate.Probe("tip", link=-1)])),
        (ValueError, r"position_m has the shape \(2,\)", lambda: scene.add_tool("probe", mesh, probes=[_probe(1, 2)])),
        (
            ValueError,
            r"position_m has the shape \(4,\)",
            lambda: scene.add_tool("p", mesh, probes=[_probe(1, 2, 3, 4)]),
        ),
        (TypeError, "mesh has ndarray, expected links", lambda: scene.add_tool("probe", [*mesh, mesh[1]])),
        (ValueError, "together", lambda: palpate.connect("127.0.0.1:1", certificate="server.pem")),
        (ValueError, "together", lambda: palpate.connect("127.0.0.1:1", certificate_key="server.key")),
        (ValueError, "no header can hold", lambda: palpate.connect("127.0.0.1:1", key="secret\n")),
    ]
    for kind, text, call in wrong:
        with pytest.raises(kind, match=text):
            call()
    assert not scene.tools()
    links = (palpate.Link("shaft", mesh), palpate.Link("tip", mesh))
    assert len(scene.add_tool("pair", links).reports) == 2


def _probe(*position: float) -> palpate.Probe:
    return palpate.Probe("tip", position)  # type: ignore[arg-type]
