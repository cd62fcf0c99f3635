"""Writes what all languages replay: an organ, a tool, and the poses of a hand that presses, drags, turns and lifts.

    make_inputs.py FOLDER

Poses are little-endian doubles: x, y, z, and a quaternion x, y, z, w. Wrenches are written the same way: force, torque.
"""

import math
import pathlib
import struct
import sys

SAMPLES = 1500
N = 24
WIDTH_M = 0.12


def organ() -> str:
    """A slab with hills, closed."""
    lines = []
    for level in range(2):
        for j in range(N + 1):
            for i in range(N + 1):
                x, y = WIDTH_M * (i / N - 0.5), WIDTH_M * (j / N - 0.5)
                z = 0.004 * math.sin(90 * x) * math.cos(70 * y) if level == 0 else -0.03
                lines.append(f"v {x:.9f} {y:.9f} {z:.9f}")
    below = (N + 1) ** 2

    def at(i: int, j: int, level: int) -> int:
        return 1 + level * below + j * (N + 1) + i

    def quad(a: int, b: int, c: int, d: int) -> None:
        lines.extend((f"f {a} {b} {c}", f"f {a} {c} {d}"))

    for j in range(N):
        for i in range(N):
            quad(at(i, j, 0), at(i + 1, j, 0), at(i + 1, j + 1, 0), at(i, j + 1, 0))
            quad(at(i, j, 1), at(i, j + 1, 1), at(i + 1, j + 1, 1), at(i + 1, j, 1))
    for k in range(N):
        quad(at(k, 0, 1), at(k + 1, 0, 1), at(k + 1, 0, 0), at(k, 0, 0))
        quad(at(k + 1, N, 1), at(k, N, 1), at(k, N, 0), at(k + 1, N, 0))
        quad(at(N, k, 1), at(N, k + 1, 1), at(N, k + 1, 0), at(N, k, 0))
        quad(at(0, k + 1, 1), at(0, k, 1), at(0, k, 0), at(0, k + 1, 0))
    return "\n".join(lines) + "\n"


def tool() -> str:
    """A rod with a round end."""
    around, rings = 12, [(0.0, 0.0)]
    rings += [(0.004 * math.sin(a * math.pi / 8), 0.004 * (1 - math.cos(a * math.pi / 8))) for a in range(1, 5)]
    rings += [(0.004, 0.04), (0.0, 0.04)]
    lines = [f"v 0 0 {rings[0][1]:.9f}"]
    for radius, z in rings[1:-1]:
        for k in range(around):
            angle = 2 * math.pi * k / around
            lines.append(f"v {radius * math.cos(angle):.9f} {radius * math.sin(angle):.9f} {z:.9f}")
    lines.append(f"v 0 0 {rings[-1][1]:.9f}")
    last = 2 + around * (len(rings) - 2)

    def at(ring: int, k: int) -> int:
        return 2 + around * ring + k % around

    for k in range(around):
        lines.append(f"f 1 {at(0, k + 1)} {at(0, k)}")
        for ring in range(len(rings) - 3):
            a, b, c, d = at(ring, k), at(ring, k + 1), at(ring + 1, k + 1), at(ring + 1, k)
            lines.extend((f"f {a} {b} {c}", f"f {a} {c} {d}"))
        lines.append(f"f {last} {at(len(rings) - 3, k)} {at(len(rings) - 3, k + 1)}")
    return "\n".join(lines) + "\n"


def poses() -> bytes:
    packed = []
    for n in range(SAMPLES):
        t = n / SAMPLES
        x, y = 0.03 * math.sin(5 * t), 0.02 * math.sin(3 * t)
        z = 0.012 - 0.017 * math.sin(math.pi * t)
        half = 0.25 * math.sin(4 * t)
        packed.append(struct.pack("<7d", x, y, z, 0.6 * math.sin(half), 0.8 * math.sin(half), 0.0, math.cos(half)))
    return b"".join(packed)


folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
(folder / "organ.obj").write_text(organ())
(folder / "tool.obj").write_text(tool())
(folder / "poses.bin").write_bytes(poses())
