"""The guides' Python is run, with a stand-in for the simulator that it is for."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support import REPOSITORY, ServerProgram, block, octahedron

import palpate

SOFA = REPOSITORY / "clients" / "guides" / "sofa.md"


class Data:
    """As SofaPython3 gives an array of its own."""

    def __init__(self, rows: Any) -> None:
        self._rows = np.array(rows, np.float64)

    def array(self) -> Any:
        return self._rows

    def __len__(self) -> int:
        return len(self._rows)

    @contextmanager
    def writeable(self) -> Iterator[Any]:
        yield self._rows


class SofaObject:
    """An object of a scene: its data are as given once the scene is initialised."""

    position: Data
    forces: Data

    def __init__(self, kind: str, **data: Any) -> None:
        self.kind, self.given = kind, data
        if kind == "MechanicalObject":
            self.position = Data([[0, 0, 0]])
        if "forces" in data:
            self.forces = Data(data["forces"])


class Controller:
    """The base of SOFA's controllers."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        assert not args and list(kwargs) == ["name"]


class Node:
    """A node of SOFA's graph, initialised in SOFA's order: objects first, then each controller is told."""

    def __init__(self) -> None:
        self.objects: list[Any] = []
        self.children: list[Node] = []

    def addObject(self, kind: Any, **data: Any) -> Any:
        self.objects.append(SofaObject(kind, **data) if isinstance(kind, str) else kind)
        return self.objects[-1]

    def addChild(self, name: str) -> Node:
        self.children.append(Node())
        return self.children[-1]

    def init(self) -> None:
        everywhere = [self, *(below for child in self.children for below in (child, *child.children))]
        for node in everywhere:
            found = {one.kind: one for one in node.objects if isinstance(one, SofaObject)}
            topology, moved = found.get("MeshTopology"), found.get("MechanicalObject")
            if moved is not None:
                rows = moved.given.get("position", topology.given.get("position") if topology else None)
                moved.position = Data([[0, 0, 0]] if rows is None else rows)
        for node in everywhere:
            for controller in (one for one in node.objects if isinstance(one, Controller)):
                getattr(controller, "onSimulationInitDoneEvent", lambda _: None)({})


def guide(
    program: ServerProgram, monkeypatch: pytest.MonkeyPatch, edit: Callable[[str], str] = lambda code: code
) -> Any:
    """Runs the guide's code; returns its `createScene`. Its files are a block, and a tip of 5 mm."""
    sofa: Any = ModuleType("Sofa")
    sofa.Core = SimpleNamespace(Controller=Controller)
    monkeypatch.setitem(sys.modules, "Sofa", sofa)
    points, triangles = block((0.1, 0.1, 0.04), (20, 20, 8))
    meshio: Any = ModuleType("meshio")
    meshio.read = lambda _: SimpleNamespace(points=points, cells_dict={"triangle": np.array(triangles)})
    monkeypatch.setitem(sys.modules, "meshio", meshio)
    code = re.findall(r"^```python\n(.*?)^```$", SOFA.read_text(), re.DOTALL | re.MULTILINE)
    assert len(code) == 1
    text = code[0].replace("127.0.0.1:7447", program.address).replace('"instrument.obj"', "TIP")
    space: dict[str, Any] = {"TIP": octahedron(0.005)}
    exec(compile(edit(text), str(SOFA), "exec"), space)
    return space["createScene"]


def test_sofa_s_controller_must_wait_for_the_initialisation(
    program: ServerProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stand-in fails a controller that reads positions as it is made, as SOFA does."""

    def early(code: str) -> str:
        made = "self.triangles, self.instrument = triangles, instrument\n"
        return code.replace(made, made + "        self.onSimulationInitDoneEvent(None)\n")

    with pytest.raises(palpate.Refused, match=r"triangles.*expected < 1"):
        guide(program, monkeypatch, early)(Node())
    with palpate.connect(program.address) as server:
        server.delete_scene("sofa")


def test_sofa_s_controller_moves_the_tissue_and_brings_its_loads(
    program: ServerProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = Node()
    guide(program, monkeypatch)(root)
    root.init()
    controller = root.objects[-1]
    surface, field, frame = controller.surface, controller.force_field, controller.frame
    # Off the grid's lines, with its tip 5 mm below.
    frame.position.array()[0] = [0.0013, 0.0007, 0.02, 0, 0, 0, 1]

    def step() -> Any:
        controller.onAnimateBeginEvent({})
        # The solver moves nothing.
        controller.onAnimateEndEvent({})
        time.sleep(0.002)
        return field.forces.array().sum(axis=0)

    try:
        assert step().tolist() == [0, 0, 0]
        for z in np.linspace(0.02, 0.0, 100):
            frame.position.array()[0, 2] = z
            load_n = step()
        until = time.monotonic() + 20
        # 300 N/m times the tip's depth of 5 mm, downwards.
        while abs(load_n[2] + 1.5) > 0.015:
            assert time.monotonic() < until, load_n
            load_n = step()
        assert np.abs(load_n[:2]).max() < 0.015
        # The surface sinks below the probe: Palpate receives these positions, and the load ends.
        surface.position.array()[:, 2] -= 0.01
        while load_n.tolist() != [0, 0, 0]:
            assert time.monotonic() < until, load_n
            load_n = step()
        found = controller.tissue.export().positions_m
        assert np.allclose(found, surface.position.array(), atol=1e-8)
        # The server is gone: an old load counts as none.
        frame.position.array()[0, 2] = -0.01
        while step()[2] > -1:
            assert time.monotonic() < until
        controller.onAnimateBeginEvent({})
        program.stop()
        time.sleep(0.1)
        controller.onAnimateBeginEvent({})
        program.go_on()
        assert not field.forces.array().any()
    finally:
        controller.scene.delete()
        controller.server.close()


def test_every_page_says_what_was_run() -> None:
    pages = sorted(SOFA.parent.glob("*.md"))
    assert len(pages) == 6
    for page in pages:
        if page.name != "README.md":
            text = page.read_text()
            assert "**What was run here**" in text and "**How threads run**" in text, page
