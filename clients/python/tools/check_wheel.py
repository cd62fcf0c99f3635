"""Installs a wheel with the server program as a user does and runs what the README promises.

python3 tools/check_wheel.py WHEEL

The environment is new, and its PATH has no compiler and no npm. Needs a package index for what the
wheel depends on, and pytest. With chromium it also opens the live view.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CLIENT = Path(__file__).resolve().parent.parent


def main() -> None:
    wheel = Path(sys.argv[1]).resolve()
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    with tempfile.TemporaryDirectory(prefix="palpate-wheel-") as name:
        folder = Path(name)
        scripts = folder / "venv" / "bin"
        environment = {key: value for key, value in os.environ.items() if not key.startswith("PALPATE_")}
        environment |= {"PATH": str(scripts), "HOME": name}

        def run(*command: str | Path, cwd: Path = folder, **variables: str) -> str:
            done = subprocess.run(
                command,
                cwd=cwd,
                env=environment | variables,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            if done.returncode != 0:
                sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stdout}")
            return done.stdout

        subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
        found = [tool for tool in ("cargo", "rustc", "gcc", "cc", "npm") if shutil.which(tool, path=str(scripts))]
        assert not found, found
        pip = (scripts / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        started = time.monotonic()
        run(*pip, wheel)
        print(f"wheel: {wheel.stat().st_size / 1e6:.1f} MB, installed in {time.monotonic() - started:.1f} s")

        version = run(scripts / "palpate", "--version")
        assert "live view: included" in version, version
        assert run(scripts / "python", "-m", "palpate", "--version") == version
        report = run(scripts / "palpate", "demo", "--seconds", "2")
        assert "round trip" in report, report
        if chromium is None:
            print("chromium is not installed: the live view was not opened")
        else:
            _check_page(scripts / "palpate", chromium, folder)

        run(*pip, "pytest")
        tests = ("tests/test_start.py", "tests/test_readme.py", "tests/test_batch.py")
        command = (scripts / "python", "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests)
        print(run(*command, cwd=CLIENT, PALPATE_SERVER_BIN=str(scripts / "palpate")).splitlines()[-1])


def _check_page(program: Path, chromium: str, folder: Path) -> None:
    """Opens the page of `palpate demo --watch` and reads a distance in it."""
    demo = subprocess.Popen([program, "demo", "--watch"], cwd=folder, stdout=subprocess.PIPE, text=True)
    try:
        assert demo.stdout is not None
        address = demo.stdout.readline().split()[5]
        command = [
            chromium,
            "--headless",
            "--no-sandbox",
            "--enable-unsafe-swiftshader",
            f"--user-data-dir={folder}/user",
        ]
        command += ["--virtual-time-budget=20000", "--dump-dom", address]
        page = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=120).stdout
    finally:
        demo.send_signal(signal.SIGINT)
        demo.wait(20)
    distance = re.search(r'id="distance">(-?[\d.]+ mm)', page)
    assert 'data-state="live"' in page and distance, page
    print(f"live view: {distance[1]}")


main()
