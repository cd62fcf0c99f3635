"""The examples, as programs and as functions."""

from __future__ import annotations

import subprocess
import sys

import first_contact
import pytest
from support import CLIENT, ServerProgram, octahedron


def test_first_contact_is_where_the_tips_meet(program: ServerProgram) -> None:
    # 5 cm and 5 mm from their centres.
    assert first_contact.touch(program.address, octahedron(0.05), octahedron(0.005)) == pytest.approx(0.055, abs=2e-6)
    script = CLIENT / "examples" / "first_contact.py"
    done = subprocess.run([sys.executable, script, program.address], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("the instrument touches at 55.0 mm\n")
