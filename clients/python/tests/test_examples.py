"""The examples, as programs and as functions."""

from __future__ import annotations

import subprocess
import sys

import bone
import first_contact
import numpy as np
import pytest
import suture
from support import CLIENT, ServerProgram, octahedron


def test_first_contact_is_where_the_tips_meet(program: ServerProgram) -> None:
    # 5 cm and 5 mm from their centres.
    assert first_contact.touch(program.address, octahedron(0.05), octahedron(0.005)) == pytest.approx(0.055, abs=2e-6)
    script = CLIENT / "examples" / "first_contact.py"
    done = subprocess.run([sys.executable, script, program.address], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("the instrument touches at 55.0 mm\n")


def test_a_jaw_feels_the_tension_of_a_suture(program: ServerProgram) -> None:
    felt, thread, proxy = suture.run(program.address)
    way = thread[:, 2].max()
    assert 0.01 < way < suture.PULL_M
    # The string is bent over a jaw of 1.5 mm, and not at a point.
    assert felt[-200:].mean() == pytest.approx(suture.pull_of_a_string_n(way), rel=0.05)
    assert felt[-200:].std() < 0.02
    # The jaw has not gone through: it is below the highest point by its radius and the thread's.
    assert way - proxy[2] == pytest.approx(0.002, abs=2e-4)
    assert np.abs(np.diff(felt)).max() < 0.31


def test_a_bone_that_breathes_presses_a_guide_and_bears_its_force(program: ServerProgram) -> None:
    samples = bone.run(program.address)
    hand = np.array([s.hand_n for s in samples])
    strength = np.linalg.norm(hand, axis=1)
    assert not strength[:200].any() and strength.max() > 1.0
    for n, s in enumerate(samples):
        assert np.allclose(s.bone_n, -s.contacts_n.sum(axis=0), atol=1e-6)
        origin = np.float32(bone.pose_of_bone(1e-3 * (n - n % bone.TICKS_PER_POSE)))[:3]
        moment = -np.cross(s.contacts_m - origin, s.contacts_n).sum(axis=0) if len(s.contacts_m) else np.zeros(3)
        assert np.allclose(s.bone_nm, moment, atol=1e-6)
        assert s.distance_m > -1e-6
    # At the highest point of the breath, and afterwards none.
    assert abs(samples[int(strength.argmax())].time_s - bone.BREATH_S / 2) < 0.2
    assert strength[-1] == 0
