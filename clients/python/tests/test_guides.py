"""The guides' Python is run, with a stand-in for the simulator that it is for."""

from __future__ import annotations

import itertools
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support import HAS_ENGINE, REPOSITORY, ServerProgram, octahedron

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


def tetrahedral_block(size_m: tuple[float, float, float], cells: tuple[int, int, int]) -> tuple[Any, Any]:
    """A block whose top is at z = 0, six tetrahedra for each cube."""
    number = np.arange(np.prod(np.array(cells) + 1)).reshape(np.array(cells) + 1)
    grid = np.stack(np.meshgrid(*(np.arange(n + 1) for n in cells), indexing="ij"), -1).reshape(-1, 3) / cells
    tetrahedra = []
    for path in itertools.permutations(range(3)):
        # From the lowest corner of each cube to the highest, along one axis after the other.
        corner, steps = np.zeros(3, int), [np.zeros(3, int)]
        for axis in path:
            corner = corner + np.eye(3, dtype=int)[axis]
            steps.append(corner)
        ends = [number[i : cells[0] + i, j : cells[1] + j, k : cells[2] + k].ravel() for i, j, k in steps]
        tetrahedra.append(np.stack(ends, axis=1))
    return (grid - (0.5, 0.5, 1.0)) * size_m, np.concatenate(tetrahedra)


def guide(
    program: ServerProgram, monkeypatch: pytest.MonkeyPatch, edit: Callable[[str], str] = lambda code: code
) -> Any:
    """Runs the guide's code; returns its `createScene`. Its files are a block, and a tip of 5 mm."""
    sofa: Any = ModuleType("Sofa")
    sofa.Core = SimpleNamespace(Controller=Controller)
    monkeypatch.setitem(sys.modules, "Sofa", sofa)
    # Of this test's stand-in.
    monkeypatch.delitem(sys.modules, "palpate.sofa", raising=False)
    points, tetrahedra = tetrahedral_block((0.1, 0.1, 0.04), (20, 20, 8))
    meshio: Any = ModuleType("meshio")
    meshio.read = lambda _: SimpleNamespace(points=points, cells_dict={"tetra": tetrahedra})
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
        made = "\n        )\n    )\n"
        assert made in code
        return code.replace(made, made + "    root.objects[-1].onSimulationInitDoneEvent(None)\n")

    with pytest.raises(palpate.Refused, match="expected a corner among 1 points"):
        guide(program, monkeypatch, early)(Node())
    with palpate.connect(program.address) as server:
        server.delete_scene("sofa")


def test_in_lock_step_each_step_has_the_loads_of_its_positions(
    program: ServerProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = Node()
    option = 'render={"stiffness_n_per_m": 300},'
    guide(program, monkeypatch, lambda code: code.replace(option, option + "lock_step=True,"))(root)
    root.init()
    controller = root.objects[-1]
    loads = []
    for z in [*np.linspace(0.02, 0.0, 100), *np.zeros(100)]:
        controller.frame.position.array()[0] = [0.0013, 0.0007, z, 0, 0, 0, 1]
        controller.onAnimateEndEvent({})
        # Any time later: the load is of this step's positions.
        controller.onAnimateBeginEvent({})
        loads.append(controller.force_field.forces.array().sum(axis=0)[2])
    controller.close()
    assert loads[0] == 0 and loads[-1] == pytest.approx(-1.5, abs=0.015)


def test_sofa_s_controller_moves_the_tissue_and_brings_its_loads(
    program: ServerProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = Node()
    guide(program, monkeypatch)(root)
    root.init()
    controller = root.objects[-1]
    nodes, field, frame = controller.nodes, controller.force_field, controller.frame
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
        # The organ sinks below the probe: Palpate receives these positions, and the load ends.
        nodes.position.array()[:, 2] -= 0.01
        while load_n.tolist() != [0, 0, 0]:
            assert time.monotonic() < until, load_n
            load_n = step()
        found = controller.tissue.export().positions_m
        assert np.allclose(found, nodes.position.array(), atol=1e-8)
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
        controller.close()


class Device:
    """A hand that comes down at 50 mm/s to 5 mm below the block's top, falls silent for a while, and is unplugged."""

    def __init__(self) -> None:
        self.height_m, self.is_unplugged = 0.02, False
        self.may_speak = threading.Event()
        self.may_speak.set()
        self.felt: list[palpate.Wrench] = []

    def pose(self) -> palpate.PoseLike:
        time.sleep(0.001)
        self.may_speak.wait()
        if self.is_unplugged:
            raise OSError("unplugged")
        self.height_m = max(self.height_m - 5e-5, 0.0)
        return (0.0013, 0.0007, self.height_m)

    def apply(self, wrench: palpate.Wrench) -> None:
        self.felt.append(wrench)


@pytest.mark.skipif(not HAS_ENGINE, reason="PALPATE_LIBRARY names no C library")
def test_a_device_feels_sofa_s_organ_which_bears_its_force(
    program: ServerProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, device = Node(), Device()
    option = 'render={"stiffness_n_per_m": 300},'
    create = guide(program, monkeypatch, lambda code: code.replace(option, option + "device=DEVICE,"))
    create.__globals__["DEVICE"] = device
    create(root)
    root.init()
    controller = root.objects[-1]
    field, until = controller.force_field, time.monotonic() + 20

    def step() -> Any:
        controller.onAnimateBeginEvent({})
        controller.onAnimateEndEvent({})
        time.sleep(0.002)
        assert time.monotonic() < until, field.forces.array().sum(axis=0)
        return field.forces.array().sum(axis=0)

    try:
        while abs(step()[2] + 1.5) > 0.015:
            pass
        assert device.felt[-1].force_n[2] == pytest.approx(1.5, abs=0.015)
        # SOFA's instrument is where the hand is.
        assert controller.frame.position.array()[0].tolist() == [0.0013, 0.0007, 0, 0, 0, 0, 1]
        # A device that is silent loads nothing, and neither does one that is gone.
        device.may_speak.clear()
        while step().any():
            pass
        device.may_speak.set()
        while abs(step()[2] + 1.5) > 0.015:
            pass
        controller.nodes.position.array()[:, 2] -= 0.01
        while step().any():
            pass
        controller.nodes.position.array()[:, 2] += 0.01
        while not step().any():
            pass
        device.is_unplugged = True
        with pytest.raises(OSError, match="unplugged"):
            while True:
                step()
        controller.onAnimateBeginEvent({})
        assert not field.forces.array().any()
    finally:
        controller.close()
    assert not device.felt[-1].force_n.any()


def test_every_page_says_what_was_run() -> None:
    pages = sorted(SOFA.parent.glob("*.md"))
    assert len(pages) == 9
    for page in pages:
        # The tutorial's test runs every step.
        if page.name not in ("README.md", "tutorial.md"):
            text = page.read_text()
            assert "**What was run here**" in text and "**How threads run**" in text, page
