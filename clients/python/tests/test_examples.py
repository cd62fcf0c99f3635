"""The examples, as programs and as functions."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from types import ModuleType

import pytest
from support import CLIENT, ServerProgram, octahedron


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, CLIENT / "examples" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_first_contact_is_where_the_tips_meet(program: ServerProgram) -> None:
    # 5 cm and 5 mm from their middles.
    module = example("first_contact")
    assert module.touch(program.address, octahedron(0.05), octahedron(0.005)) == pytest.approx(0.055, abs=2e-6)
    script = CLIENT / "examples" / "first_contact.py"
    done = subprocess.run([sys.executable, script, program.address], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("the instrument touches at 55.0 mm\n")
