"""Refuses wrenches that are none, and says how far two replays of the same poses are apart: felt.py FILE [OTHER]"""

import pathlib
import struct
import sys

SAMPLES = 1500
# Limits of the greatest force of a replay.
FORCE_MIN_N, FORCE_MAX_N = 0.5, 3.3
# Poses and a model's reference are sent as quaternions, which changes a rotation in its last bit (2e-16). Over 30 mm
# and 500 N/m that is 3e-15 N per sample, and friction passes it on from sample to sample: 8e-13 N here.
APART_MAX = 1e-10


def read(file: str) -> list[tuple[float, ...]]:
    """Force and torque of each sample, of a hand that was pushed and turned in earnest."""
    felt = list(struct.iter_unpack("<6d", pathlib.Path(file).read_bytes()))
    assert len(felt) == SAMPLES, f"{file} has {len(felt)} samples, expected {SAMPLES}"
    force_n = max(sum(x * x for x in wrench[:3]) ** 0.5 for wrench in felt)
    assert FORCE_MIN_N < force_n < FORCE_MAX_N + 1e-9, f"{file}: at most {force_n} N"
    assert any(wrench[3:] != (0, 0, 0) for wrench in felt), f"{file}: no torque"
    assert felt[0] == felt[-1] == (0,) * 6, f"{file}: a hand that is not there is pushed"
    return felt


first = read(sys.argv[1])
if len(sys.argv) > 2:
    second = read(sys.argv[2])
    apart = [[abs(x - y) for x, y in zip(a, b)] for a, b in zip(first, second)]
    force_n, torque_nm = (max(max(numbers[k : k + 3]) for numbers in apart) for k in (0, 3))
    n = sum(any(numbers) for numbers in apart)
    print(f"{n} of {SAMPLES} samples differ, by {force_n:.1e} N and {torque_nm:.1e} N m at most")
    assert max(force_n, torque_nm) <= APART_MAX, f"expected at most {APART_MAX}"
