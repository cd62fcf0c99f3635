"""The servo between the answers of a real server: closed forms, what lets the force fade, and what is refused."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from support import HAS_ENGINE, DevCertificates, ServerProgram, octahedron, slab

import palpate

if not HAS_ENGINE:
    pytest.skip("PALPATE_LIBRARY names no C library", allow_module_level=True)

STAND_OFF_M = 2e-5
RADIUS_M = 0.005
STIFFNESS_N_PER_M = 400.0
DT_S = 1e-3
# A force fades from this age of its model on, and is gone this much later.
FADES_S, GONE_S = 0.1, 0.15


def tip_at(depth_m: float) -> tuple[float, float, float]:
    """Where a tip's lowest point is this deep, over the middle of a triangle."""
    return (0.0013, 0.0007, RADIUS_M - depth_m)


@pytest.fixture
def tool(scene: palpate.Scene) -> palpate.Tool:
    scene.add_tissue("slab", slab())
    return scene.add_tool("tip", octahedron(RADIUS_M))


@pytest.fixture
def servo(scene: palpate.Scene, tool: palpate.Tool) -> Iterator[palpate.Servo]:
    with scene.servo(palpate.Render(tool, stiffness_n_per_m=STIFFNESS_N_PER_M)) as servo:
        yield servo


def hold(servo: palpate.Servo, depth_m: float, is_felt: Callable[[palpate.Wrench], bool]) -> palpate.Wrench:
    """Lowers a hand at 10 mm/s from 1 mm above, and holds it until it feels what it has to."""
    for to_m in np.arange(-0.001, depth_m, 1e-5):
        servo.step(tip_at(to_m), DT_S)
        time.sleep(DT_S)
    until = time.monotonic() + 20
    while not is_felt(felt := servo.step(tip_at(depth_m), DT_S)):
        assert time.monotonic() < until, felt
        time.sleep(DT_S)
    return felt


def is_pressed(depth_m: float) -> Callable[[palpate.Wrench], bool]:
    expected_n = STIFFNESS_N_PER_M * (depth_m + STAND_OFF_M)
    return lambda felt: bool(np.allclose(felt.force_n, (0, 0, expected_n), atol=1e-3))


def test_a_hand_feels_its_spring_and_a_solver_its_load(
    scene: palpate.Scene, servo: palpate.Servo, figure: Callable[[str], None]
) -> None:
    # Before the first answer there is nothing.
    assert len(servo.loads(scene.tissues()["slab"])[0]) == 0 and len(servo.contacts()) == 0
    felt = hold(servo, 0.001, is_pressed(0.001))
    assert felt.flags == palpate.ServoFlag(0) and felt.model_age_s < FADES_S
    rendering = servo.rendering
    assert rendering is not None and rendering["state"] == palpate.RenderState.TOUCHING
    assert rendering["proxy"][2] == pytest.approx(RADIUS_M + STAND_OFF_M, abs=1e-6)
    assert len(servo.contacts()) > 0
    vertices, loads_n = servo.loads(scene.tissues()["slab"])
    assert len(vertices) == len(loads_n)
    np.testing.assert_allclose(loads_n.sum(axis=0), -felt.force_n, atol=2e-3)
    servo.check()
    took = []
    for _ in range(1000):
        begun = time.perf_counter()
        servo.step(tip_at(0.001), DT_S)
        took.append(time.perf_counter() - begun)
    p50, p99 = 1e6 * np.percentile(took, [50, 99])
    figure(f"a step of the servo: p50 {p50:.0f} us, p99 {p99:.0f} us")


def test_without_answers_the_force_fades_and_it_comes_back(tmp_path: Path) -> None:
    program = ServerProgram(tmp_path)
    with palpate.connect(program.address) as server, server.create_scene("fade") as scene:
        scene.add_tissue("slab", slab())
        tool = scene.add_tool("tip", octahedron(RADIUS_M))
        with scene.servo(palpate.Render(tool, stiffness_n_per_m=STIFFNESS_N_PER_M)) as servo:
            pressed = hold(servo, 0.001, is_pressed(0.001))
            program.stop()
            felt, at = [pressed], time.monotonic()
            until = at + 2 * GONE_S
            while at < until:
                time.sleep(DT_S)
                last, at = at, time.monotonic()
                felt.append(servo.step(tip_at(0.001), at - last))
            sizes = [float(np.linalg.norm(one.force_n)) for one in felt]
            assert all(after <= before + 1e-3 for before, after in zip(sizes[:-1], sizes[1:], strict=True))
            for one, size in zip(felt, sizes, strict=True):
                assert (palpate.ServoFlag.FADING in one.flags) == (one.model_age_s > FADES_S), one
                assert one.model_age_s > FADES_S or size > 0.9 * sizes[0], one
            # The fade begins with the first step after its age, which may come late.
            late_s = max(after.model_age_s - before.model_age_s for before, after in zip(felt, felt[1:], strict=False))
            assert all(one.model_age_s < GONE_S + late_s or size == 0 for one, size in zip(felt, sizes, strict=True))
            assert sizes[-1] == 0
            program.go_on()
            hold(servo, 0.001, is_pressed(0.001))
    program.end()


def test_a_pose_that_is_none_fades_and_is_an_error_once(servo: palpate.Servo) -> None:
    pressed = hold(servo, 0.001, is_pressed(0.001))
    felt = servo.step((0.0, 0.0, np.nan), DT_S)
    assert palpate.ServoFlag.FADING in felt.flags
    assert np.linalg.norm(felt.force_n) <= np.linalg.norm(pressed.force_n)
    with pytest.raises(palpate.InvalidArgument, match="a pose is none"):
        servo.check()
    servo.check()
    matrix = np.eye(4)
    matrix[0, 3] = np.nan
    assert palpate.ServoFlag.FADING in servo.step(matrix, DT_S).flags
    with pytest.raises(ValueError, match="expected finite numbers"):
        servo.check()
    # A tip has one link.
    assert palpate.ServoFlag.FADING in servo.step(tip_at(0.001), DT_S, [(0, 0, 0)] * 2).flags
    with pytest.raises(palpate.InvalidArgument, match="link"):
        servo.check()


class Hand:
    """A device that goes up a way, and fails at its end if it has to."""

    def __init__(self, samples: int, fails: bool) -> None:
        self.left, self.fails = samples, fails
        self.felt: list[palpate.Wrench] = []

    def pose(self) -> palpate.PoseLike | None:
        time.sleep(DT_S)
        self.left -= 1
        if self.left < 0 and self.fails:
            raise OSError("the device was unplugged")
        return None if self.left < 0 else tip_at(0.001)

    def apply(self, wrench: palpate.Wrench) -> None:
        self.felt.append(wrench)


@pytest.mark.parametrize("fails", [False, True])
def test_however_a_loop_ends_the_device_is_sent_no_force(servo: palpate.Servo, fails: bool) -> None:
    hold(servo, 0.001, is_pressed(0.001))
    hand = Hand(100, fails)
    if fails:
        with pytest.raises(OSError, match="unplugged"):
            servo.run(hand)
    else:
        servo.run(hand)
    assert len(hand.felt) == 101
    assert all(one.force_n[2] > 0.1 for one in hand.felt[:-1] if one.model_age_s < FADES_S)
    assert hand.felt[-1].force_n.tolist() == hand.felt[-1].torque_nm.tolist() == [0, 0, 0]


def test_a_servo_connects_as_its_server_did(tmp_path: Path) -> None:
    certificates = DevCertificates(tmp_path)
    program = ServerProgram(tmp_path, *certificates.settings)
    with (
        palpate.connect(program.address, key=certificates.key, ca=certificates.ca) as server,
        server.create_scene("secret") as scene,
    ):
        scene.add_tissue("slab", slab())
        tool = scene.add_tool("tip", octahedron(RADIUS_M))
        with scene.servo(palpate.Render(tool, stiffness_n_per_m=STIFFNESS_N_PER_M)) as servo:
            hold(servo, 0.001, is_pressed(0.001))
    program.end()
    with palpate.start() as server, server.create_scene("started") as scene:
        scene.add_tissue("slab", slab())
        with scene.servo(scene.add_tool("tip", octahedron(RADIUS_M))) as servo:
            assert servo.step(tip_at(-0.01), DT_S).force_n.tolist() == [0, 0, 0]


def test_what_a_servo_refuses(scene: palpate.Scene, tool: palpate.Tool, server: palpate.Server) -> None:
    with pytest.raises(palpate.InvalidArgument, match="friction is 9"):
        scene.servo(palpate.Render(tool, friction=9))
    with pytest.raises(ValueError, match="cutting_links has 32"):
        scene.servo(palpate.Render(tool, cutting_links=[32]))
    with pytest.raises(palpate.InvalidArgument, match="rate_hz"):
        scene.servo(tool, rate_hz=2000)
    with server.create_scene("other") as other, pytest.raises(ValueError, match="expected one of scene"):
        other.servo(tool)
    servo = scene.servo(tool)
    servo.close()
    servo.close()
    for call in (lambda: servo.step((0, 0, 1), DT_S), servo.check, servo.contacts, lambda: servo.rendering):
        with pytest.raises(palpate.Closed):
            call()
    tool.remove()
    with pytest.raises(palpate.NotFound):
        scene.servo(tool)


@pytest.mark.skipif(not hasattr(os, "fork") or sys.platform != "linux", reason="a process is forked on Linux")
def test_a_forked_process_has_no_servo(servo: palpate.Servo) -> None:
    child = os.fork()
    if child == 0:
        try:
            servo.step((0, 0, 1), DT_S)
        except RuntimeError:
            servo.close()
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    hold(servo, 0.001, is_pressed(0.001))
