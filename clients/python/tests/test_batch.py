"""Many hands in this process: against the server, closed forms and themselves."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import needle_reach_env
import numpy as np
import pytest
from support import HAS_ENGINE, octahedron, slab

import palpate

if not HAS_ENGINE:
    pytest.skip("PALPATE_LIBRARY names no C library", allow_module_level=True)

STAND_OFF_M = 2e-5
RADIUS_M = 0.005


def down(n: int, depth_m: float = 0.0, step_m: float = 0.0) -> np.ndarray:
    """Poses of tips whose lowest points are at this depth, each a step deeper than the one before."""
    poses = np.zeros((n, 7))
    poses[:, 2] = RADIUS_M - depth_m - step_m * np.arange(n)
    poses[:, 6] = 1
    return poses


def pressed(batch: palpate.Batch, depth_m: float, step_m: float = 0.0) -> palpate.BatchAnswer:
    """The answer of hands that were lowered from above for long enough."""
    batch.step(down(len(batch), -0.002))
    # At the end they rest: a servo damps a hand that moves.
    for share in [*np.linspace(0, 1, 60), *np.ones(20)]:
        answer = batch.step(down(len(batch), share * depth_m, share * step_m))
    return answer


def test_each_hand_feels_its_own_spring() -> None:
    with palpate.Batch({"slab": slab()}, octahedron(RADIUS_M), 16, stiffness_n_per_m=400) as batch:
        assert len(batch) == 16 and batch.n_links == 1
        answer = pressed(batch, 0.001, 0.0001)
        depths = 0.001 + 0.0001 * np.arange(16) + STAND_OFF_M
        np.testing.assert_allclose(answer.force_n[:, 2], 400 * depths, rtol=1e-6)
        np.testing.assert_allclose(answer.proxy[:, 2], RADIUS_M + STAND_OFF_M, atol=1e-9)
        np.testing.assert_allclose(answer.distance_m[:, 0], STAND_OFF_M, atol=1e-9)
        assert set(answer.renderings["state"]) == {palpate.RenderState.TOUCHING}
        contacts = batch.contacts(3)
        assert len(contacts) == answer.distances["n_contacts"][3, 0] > 0
        np.testing.assert_allclose(contacts["normal"], np.tile([0, 0, 1], (len(contacts), 1)), atol=1e-6)


def test_hands_are_those_of_the_server(scene: palpate.Scene) -> None:
    scene.add_tissue("slab", slab())
    tool = scene.add_tool("tip", octahedron(RADIUS_M))
    rng = np.random.default_rng(5)
    path = down(40, 0.0)
    path[:, :3] += np.cumsum(rng.normal(0, 2e-4, (40, 3)), axis=0)
    render = palpate.Render(tool, local_model=True)
    with (
        palpate.Batch({"slab": slab()}, octahedron(RADIUS_M), 1) as batch,
        scene.track([tool], render=[render]) as loop,
    ):
        for at in path:
            told, answer = loop.tick(palpate.Pose(at[:3], at[3:])), batch.step(at)
            proxy = told.renderings[0].proxy
            # A server's poses go through quaternions.
            np.testing.assert_allclose(answer.proxy[0, :3], proxy.position_m, atol=1e-15)
            assert answer.distance_m[0, 0] == pytest.approx(told.links[0].signed_distance_m, abs=1e-15)


def test_copies_have_tissues_of_their_own() -> None:
    positions, triangles = slab()
    with palpate.Batch({"slab": (positions, triangles)}, octahedron(RADIUS_M), 3, copies=True) as batch:
        batch.deform("slab", positions + [0, 0, 0.001], hands=[1])
        batch.deform("slab", np.stack([positions, positions + [0, 0, 0.002]]), hands=[0, 2])
        answer = pressed(batch, 0.0005)
        np.testing.assert_allclose(answer.force_n[:, 2], 500 * (0.0005 + STAND_OFF_M + 1e-3 * np.arange(3)), rtol=1e-5)
        with pytest.raises(ValueError, match="for 2 hands, expected 3"):
            batch.deform("slab", np.stack([positions, positions]))
    with palpate.Batch({"slab": (positions, triangles)}, octahedron(RADIUS_M), 3) as batch:
        batch.deform("slab", positions + [0, 0, 0.001])
        np.testing.assert_allclose(pressed(batch, 0.0).force_n[:, 2], 500 * (0.001 + STAND_OFF_M), rtol=1e-5)
        with pytest.raises(ValueError, match="copies=True"):
            batch.deform("slab", positions, hands=[1])


def test_copies_have_materials_of_their_own() -> None:
    tip = octahedron(RADIUS_M)
    with palpate.Batch({"slab": slab()}, tip, 3, copies=True, stiffness_n_per_m=400) as batch:
        batch.set_feel("slab", palpate.Material(stiffness_n_per_m=100, friction=0.3), hands=[1])
        batch.set_feel("slab", [palpate.Material(), palpate.Material(1000)], np.ones(len(slab()[1]), int), hands=[2])
        depth = 0.001 + STAND_OFF_M
        springs = [400, 1 / (1 / 400 + 1 / 100), 1 / (1 / 400 + 1 / 1000)]
        np.testing.assert_allclose(pressed(batch, 0.001).force_n[:, 2], depth * np.array(springs), rtol=1e-3)
        batch.set_feel("slab", [])
        np.testing.assert_allclose(pressed(batch, 0.001).force_n[:, 2], depth * 400, rtol=1e-6)
        with pytest.raises(palpate.InvalidArgument, match="triangle_materials has 2, expected"):
            batch.set_feel("slab", palpate.Material(100), [0, 0])


def test_a_hand_that_is_reset_begins_anew() -> None:
    with palpate.Batch({"slab": slab()}, octahedron(RADIUS_M), 2) as batch:
        assert (pressed(batch, 0.001).force_n[:, 2] > 0.4).all()
        batch.reset([1])
        answer = batch.step(down(2, 0.001))
        assert answer.force_n[0, 2] > 0.4
        # It begins inside the slab.
        assert answer.renderings["state"][1] == palpate.RenderState.EMBEDDED
        assert not answer.force_n[1].any()


def test_links_have_poses_of_their_own() -> None:
    links = [
        palpate.Link("left", octahedron(RADIUS_M)),
        palpate.Link("right", octahedron(RADIUS_M), rest_pose=[0.05, 0, 0]),
    ]
    with palpate.Batch({"slab": slab()}, links, 2) as batch:
        at = np.zeros((2, 2, 7))
        at[..., 6], at[:, 1, 0] = 1, 0.05
        at[1, 1, 2] = 0.003
        answer = batch.step(down(2, -0.001), at)
        np.testing.assert_allclose(answer.distance_m, [[0.001, 0.001], [0.001, 0.004]], atol=1e-5)
        with pytest.raises(ValueError, match=r"expected \(2, 2, 7\)"):
            batch.step(down(2), at[:, :1])


def test_equal_steps_give_equal_answers_on_any_number_of_threads() -> None:
    program = """
import hashlib, numpy as np, palpate
from support import octahedron, slab
rng, found = np.random.default_rng(7), hashlib.sha256()
with palpate.Batch({"slab": slab()}, octahedron(0.005), 32, friction=0.3) as batch:
    poses = np.tile([0, 0, 0.006, 0, 0, 0, 1.0], (32, 1))
    for _ in range(40):
        poses[:, :3] += rng.normal(0, 3e-4, (32, 3))
        answer = batch.step(poses)
        found.update(answer.wrenches.tobytes() + answer.renderings.tobytes() + answer.distances.tobytes())
print(found.hexdigest())
"""
    folder = Path(__file__).parent
    path = os.pathsep.join([str(folder), str(Path(palpate.__file__).parent.parent)])
    told = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "RAYON_NUM_THREADS": threads, "PYTHONPATH": path},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        ).stdout
        for threads in ("1", "2", "5")
    }
    assert len(told) == 1, told


def test_wrong_arguments_are_named(tmp_path: Path) -> None:
    organ, tip = slab(), octahedron(RADIUS_M)
    with pytest.raises(ValueError, match="n is 0"):
        palpate.Batch({"slab": organ}, tip, 0)
    with pytest.raises(palpate.InvalidArgument, match="nothing.obj"):
        palpate.Batch({"slab": tmp_path / "nothing.obj"}, tip, 1)
    with pytest.raises(palpate.InvalidArgument, match="stiffness"):
        palpate.Batch({"slab": organ}, tip, 1, stiffness_n_per_m=-1)
    with pytest.raises(palpate.InvalidArgument, match="expected < 3"):
        palpate.Batch({"slab": (np.zeros((3, 3)), [[0, 1, 5]])}, tip, 1)
    with pytest.warns(palpate.MeshWarning, match="tool: the mesh .*open"):
        palpate.Batch({"slab": organ}, (tip[0], tip[1][:-1]), 1).close()
    with palpate.Batch({"slab": organ}, tip, 2) as batch:
        with pytest.raises(ValueError, match="poses has 3 rows, expected 2"):
            batch.step(down(3))
        poses = down(2)
        poses[1, 3:] = 0
        with pytest.raises(palpate.InvalidArgument, match=r"sessions\[1\]: a pose is none"):
            batch.step(poses)
        poses[1] = np.nan
        with pytest.raises(palpate.InvalidArgument):
            batch.step(poses)
        for wrong in (lambda: batch.reset([0, 2]), lambda: batch.contacts(2)):
            with pytest.raises(IndexError):
                wrong()
        with pytest.raises(KeyError, match="liver"):
            batch.deform("liver", organ[0])
        assert len(batch.step(down(2)).force_n) == 2
    batch.close()
    with pytest.raises(palpate.Closed):
        batch.step(down(2))
    with pytest.raises(palpate.Closed):
        batch.contacts(0)


def test_without_a_library_it_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALPATE_LIBRARY", "/nowhere/libpalpate_c.so")
    with pytest.raises(palpate.NotStarted, match="PALPATE_LIBRARY"):
        palpate.Batch({"slab": slab()}, octahedron(RADIUS_M), 1)


def test_a_forked_process_cannot_use_the_batch_of_its_parent() -> None:
    with palpate.Batch({"slab": slab()}, octahedron(RADIUS_M), 2) as batch:
        batch.step(down(2))
        child = os.fork()
        if child == 0:
            try:
                batch.step(down(2))
            except RuntimeError as error:
                os._exit(0 if "forked" in str(error) else 2)
            os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
        batch.step(down(2))


def test_the_learning_environment_is_equal_by_its_seed_and_solved_by_going_there() -> None:
    def run(seed: int) -> tuple[float, int]:
        environment = needle_reach_env.NeedleReach(16)
        seen, _ = environment.reset(seed)
        assert seen.shape == (16, 9) and np.isfinite(seen).all()
        n_reached = 0
        for _ in range(80):
            seen, rewards, ended, cut_off, told = environment.step(0.3 * seen[:, :3])
            assert (rewards[told["reached"]] > 5).all() and not (ended & cut_off).any()
            n_reached += int(told["reached"].sum())
        environment.close()
        return float(seen.sum()), n_reached

    first = run(1)
    assert first == run(1) and first != run(2)
    assert first[1] > 16


def test_a_needle_that_presses_too_hard_ends_its_episode() -> None:
    environment = needle_reach_env.NeedleReach(4)
    environment.reset(5)
    down_m = np.tile([0, 0, -0.002], (4, 1))
    told = [environment.step(down_m) for _ in range(60)]
    environment.close()
    hurt = [ended & (rewards < -9) for _, rewards, ended, _, _ in told]
    assert np.any(hurt)
