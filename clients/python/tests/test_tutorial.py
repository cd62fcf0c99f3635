"""The tutorial runs as printed, and says what it prints.

PALPATE_PICTURES=write puts its pictures into clients/guides/tutorial.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import CLIENT, REPOSITORY, SERVER_BIN

PAGE = REPOSITORY / "clients" / "guides" / "tutorial.md"


def test_every_step_of_the_tutorial_runs_and_says_what_the_page_says(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    figure: Callable[[str], None],
) -> None:
    for package in ("matplotlib", "mujoco", "trimesh"):
        pytest.importorskip(package, reason=f"{package} is not installed")
    monkeypatch.setenv("PALPATE_SERVER_BIN", str(SERVER_BIN))
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.chdir(tmp_path)
    shutil.copy(CLIENT / "examples" / "liver.msh", tmp_path)
    begun = time.monotonic()
    blocks = re.findall(r"^```(python|sh|text)\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    space: dict[str, Any] = {}
    said = ""
    for number, (kind, block) in enumerate(blocks):
        if kind == "python":
            exec(compile(block, f"tutorial.md, block {number}", "exec"), space)
            said = capsys.readouterr().out
        elif kind == "sh" and block.startswith("palpate "):
            commands = [line.split()[1:] for line in block.splitlines()]
            done = [subprocess.run([SERVER_BIN, *command], capture_output=True, text=True) for command in commands]
            assert all(one.returncode == 0 for one in done), done
            said = "".join(one.stdout for one in done)
        elif kind == "text":
            assert said.startswith(block), f"said:\n{said}the page:\n{block}"
    # The recording was replayed, whole.
    assert "not comparable:" not in said, said
    figure(f"the tutorial's {len(blocks)} blocks took {time.monotonic() - begun:.0f} s")
    pictures = sorted(tmp_path.glob("*.png"))
    named = re.findall(r"\]\(tutorial/(.*?\.png)\)", PAGE.read_text())
    assert [picture.name for picture in pictures] == sorted(named)
    for picture in pictures:
        if os.environ.get("PALPATE_PICTURES") == "write":
            (PAGE.parent / "tutorial").mkdir(exist_ok=True)
            shutil.copy(picture, PAGE.parent / "tutorial")
        assert (PAGE.parent / "tutorial" / picture.name).is_file()
