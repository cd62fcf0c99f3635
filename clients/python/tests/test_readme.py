"""The README's examples run, one after the other, against a server."""

from __future__ import annotations

import re
from typing import Any

import pytest
from support import CLIENT, HAS_ENGINE, REPOSITORY, SERVER_BIN, ServerProgram

README = CLIENT / "README.md"


def test_every_example_of_the_readme_runs(
    program: ServerProgram, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALPATE_SERVER_BIN", str(SERVER_BIN))
    blocks = re.findall(r"^```python\n(.*?)^```$", README.read_text(), re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 7
    space: dict[str, Any] = {}
    for number, block in enumerate(blocks, 1):
        if re.search(r"palpate\.Batch|scene\.servo", block) and not HAS_ENGINE:
            continue
        code = compile(block.replace("127.0.0.1:7447", program.address), f"README.md, example {number}", "exec")
        exec(code, space)
    said = capsys.readouterr().out
    # One result of each kind: a distance, a force, a cut, a refusal.
    assert "5.0 mm away" in said
    assert "TOUCHING" in said
    assert "[ 8  9 10]" in said
    assert "sparse.positions_m[2] - sparse.positions_m[2] is NaN" in said
    assert "scene - there is no scene" in said
    assert "(256, 3) 5.0 mm above" in said or not HAS_ENGINE


def test_the_first_page_shows_the_client_that_is_run() -> None:
    example = (CLIENT / "examples" / "first_contact.py").read_text()
    shown = example[example.index("def touch") : example.index("\n\n\ndef main")]
    assert shown in (REPOSITORY / "README.md").read_text(), f"README.md has not:\n{shown}"
    assert len(shown.splitlines()) <= 11, "it is longer than a reader is promised"
