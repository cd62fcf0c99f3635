"""The guides' Python is run, with a stand-in for the simulator that it is for."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support import REPOSITORY, ServerProgram, block, octahedron

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
    position: Data
    forces: Data

    def __init__(self, **data: Any) -> None:
        for name, rows in data.items():
            setattr(self, name, Data(rows))


class Controller:
    """The base of SOFA's controllers."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        assert not args and list(kwargs) == ["name"]


def test_sofa_s_controller_moves_the_tissue_and_brings_its_loads(
    program: ServerProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    sofa: Any = ModuleType("Sofa")
    sofa.Core = SimpleNamespace(Controller=Controller)
    monkeypatch.setitem(sys.modules, "Sofa", sofa)
    code = re.findall(r"^```python\n(.*?)^```$", SOFA.read_text(), re.DOTALL | re.MULTILINE)
    assert len(code) == 1
    space: dict[str, Any] = {}
    exec(compile(code[0].replace("127.0.0.1:7447", program.address), str(SOFA), "exec"), space)

    positions, triangles = block((0.1, 0.1, 0.04), (20, 20, 8))
    surface = SofaObject(position=positions)
    field = SofaObject(forces=np.zeros_like(positions))
    # Off the grid's lines, with its tip 5 mm below.
    frame = SofaObject(position=[[0.0013, 0.0007, 0.02, 0, 0, 0, 1]])
    controller = space["Palpation"](surface, field, triangles, frame, octahedron(0.005), name="palpation")

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
