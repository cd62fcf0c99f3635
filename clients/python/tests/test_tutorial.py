"""The tutorial runs as printed, and says what it prints.

PALPATE_PICTURES=write puts its pictures into clients/guides/tutorial.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import CLIENT, HAS_ENGINE, REPOSITORY, SERVER_BIN

PAGE = REPOSITORY / "clients" / "guides" / "tutorial.md"
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
# Its own port for the page, and that of this run.
PAGE_PORT = "9464"
# Numbers of changes in a recording depend on the machine's speed.
COUNTS = re.compile(r"(?m)(?<=^changes: )[\d,]+ of [\d,]+")


def shot(url: str, file: Path) -> subprocess.Popen[bytes] | None:
    """Begins to take a picture of a page, which takes some seconds."""
    if CHROMIUM is None:
        return None
    software = ["--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
    window = ["--headless", "--no-sandbox", "--hide-scrollbars", "--window-size=1000,600", "--timeout=4000"]
    command = [CHROMIUM, *window, *software, f"--screenshot={file}", url]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def watched(recording: str, file: Path) -> None:
    """Takes a picture of a recording in the page."""
    command = [str(SERVER_BIN), "replay", "--watch", recording]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as player:
        try:
            assert player.stdout is not None
            url = re.search(r"http://\S+", player.stdout.readline())
            assert url is not None
            taken = shot(url[0], file)
            assert taken is None or taken.wait(timeout=60) == 0
        finally:
            player.send_signal(signal.SIGINT)
        assert player.wait(timeout=60) == 0


def test_every_step_of_the_tutorial_runs_and_says_what_the_page_says(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    figure: Callable[[str], None],
) -> None:
    for package in ("matplotlib", "mujoco", "trimesh"):
        pytest.importorskip(package, reason=f"{package} is not installed")
    if not HAS_ENGINE:
        pytest.skip("PALPATE_LIBRARY names no C library")
    monkeypatch.setenv("PALPATE_SERVER_BIN", str(SERVER_BIN))
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.chdir(tmp_path)
    shutil.copy(CLIENT / "examples" / "liver.msh", tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    begun = time.monotonic()
    text = PAGE.read_text()
    blocks = re.findall(r"^```(python|sh|text)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    space: dict[str, Any] = {}
    said = ""
    for number, (kind, block) in enumerate(blocks):
        if kind == "python":
            # Somebody looks at the page during the step in lock-step, which a slow browser does not change.
            page = shot(f"http://127.0.0.1:{port}/view/", tmp_path / "page.png") if "liver.remove" in block else None
            exec(compile(block.replace(PAGE_PORT, port), f"tutorial.md, block {number}", "exec"), space)
            assert page is None or page.wait(timeout=60) == 0
            said = capsys.readouterr().out
        elif kind == "sh" and block.startswith("palpate "):
            commands = [line.split()[1:] for line in block.splitlines()]
            done = [subprocess.run([SERVER_BIN, *command], capture_output=True, text=True) for command in commands]
            assert all(one.returncode == 0 for one in done), done
            said = "".join(one.stdout for one in done)
        elif kind == "text":
            same = COUNTS.sub("all", said).startswith(COUNTS.sub("all", block))
            assert same, f"said:\n{said}the page:\n{block}"
    # The recording was replayed, whole.
    assert "not comparable:" not in said, said
    assert all(len(set(one[0].split(" of "))) == 1 for one in COUNTS.finditer(said)), said
    watched("recordings/tutorial.mcap", tmp_path / "replay.png")
    figure(f"the tutorial's {len(blocks)} blocks took {time.monotonic() - begun:.0f} s")
    pictures = sorted(tmp_path.glob("*.png"))
    named = re.findall(r"\]\(tutorial/(.*?\.png)\)", text)
    # A step has a picture each; two of them are of a browser.
    assert len(named) == len(re.findall(r"(?m)^## \d", text))
    of_browser = {"page.png", "replay.png"} if CHROMIUM is None else set()
    assert [picture.name for picture in pictures] == sorted(set(named) - of_browser)
    for picture in pictures:
        if os.environ.get("PALPATE_PICTURES") == "write":
            (PAGE.parent / "tutorial").mkdir(exist_ok=True)
            shutil.copy(picture, PAGE.parent / "tutorial")
        assert (PAGE.parent / "tutorial" / picture.name).is_file()
