"""Runs the programs for devices with a simulated hand in the place of a device: in the process, and on a server that is
killed while the hand rests on tissue, whose force must be gone then.

    devices.py FOLDER SERVER    FOLDER has touch and forcedimension
"""

import re
import subprocess
import sys
import time
from pathlib import Path

# Axis that points up.
PROGRAMS = {"touch": 1, "forcedimension": 2}


def write_meshes(folder: Path, up: int) -> tuple[str, str]:
    """A cube of 10 cm whose upper side is at 0, and a probe with one long tip, 5 mm along x; millimetres, as files mostly
    are."""
    corners = [(x, y, z) for z in (0, -100) for x, y in ((-50, -50), (50, -50), (50, 50), (-50, 50))]
    if up == 1:
        # A cyclic change of axes keeps the winding.
        corners = [(y, z, x) for x, y, z in corners]
    sides = ["1 2 3 4", "8 7 6 5", "5 6 2 1", "6 7 3 2", "7 8 4 3", "8 5 1 4"]
    tips = [(5, 0, 0), (-2, 0, 0), (0, 2, 0), (0, -2, 0), (0, 0, 2), (0, 0, -2)]
    faces = ["1 3 5", "3 2 5", "2 4 5", "4 1 5", "3 1 6", "2 3 6", "4 2 6", "1 4 6"]
    files = []
    for name, vertices, polygons in (("tissue", corners, sides), ("probe", tips, faces)):
        file = folder / f"{name}-{up}.obj"
        lines = [f"v {x} {y} {z}" for x, y, z in vertices] + [f"f {face}" for face in polygons]
        file.write_text("\n".join(lines) + "\n")
        files.append(str(file))
    return files[0], files[1]


def run(program: Path, meshes: tuple[str, str], server: str | None) -> str:
    serving = None
    command = [str(program), *meshes, "--scale-to-m", "0.001"]
    if server:
        serve = [server, "serve", "--listen", "127.0.0.1:0", "--set", "store.scenes=false"]
        serve += ["--data-dir", str(program.parent / "devices-data")]
        serving = subprocess.Popen(serve, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        listening = next(line for line in serving.stdout if line.startswith("listening on "))
        command += ["--server", listening.removeprefix("listening on ").strip()]
    running = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        said = []
        for line in running.stderr:
            said.append(line)
            if "rests" in line:
                break
        if serving:
            serving.kill()
            time.sleep(0.5)
        rest = running.communicate("\n", timeout=20)[1]
    finally:
        running.kill()
        if serving:
            serving.kill()
            serving.wait()
    text = "".join(said) + rest
    if running.returncode != 0:
        sys.exit(f"{command} ended with {running.returncode}: {text}")
    return text


def main() -> None:
    folder, server = Path(sys.argv[1]), sys.argv[2]
    for name, up in PROGRAMS.items():
        meshes = write_meshes(folder, up)
        for where in (None, server):
            text = run(folder / name, meshes, where)
            end_n = float(re.search(r"in the end ([-0-9.]+) N", text)[1])
            is_right = end_n == 0 if where else end_n > 0.4
            print(f"{name}, {'a server that is killed' if where else 'in the process'}: {' '.join(text.split())}")
            if not is_right:
                sys.exit(f"{name} gives {end_n} N in the end")


main()
