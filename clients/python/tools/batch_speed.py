"""Hand-steps a second of `palpate.Batch` beside MuJoCo's rollout of a comparable scene, by turns.

    python tools/batch_speed.py

Both have a needle on springs (300 N/m) that walks at random over an ellipsoid of 9,024 triangles, presses it, and is
answered with force and contacts, on all cores. The scenes are not equal: MuJoCo integrates the needle's own motion and
meets the convex hulls of both meshes, the batch draws a proxy over the triangles. Needs MuJoCo 4.0 or newer, and the
engine of a release build (PALPATE_LIBRARY).
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import mujoco
import mujoco.rollout
import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples"))

import needle_reach_env as env

import palpate

HANDS, STEPS, ROUNDS = 256, 200, 5
KP = 300


def walks(random: np.random.Generator) -> npt.NDArray[np.float64]:
    """Places of the needles' tips, `(HANDS, STEPS, 3)`: over the organ's upper side and a little below it."""
    towards = random.normal(size=(HANDS, 1, 3)) + np.cumsum(random.normal(0, 0.02, (HANDS, STEPS, 3)), axis=1)
    towards[..., 2] = np.abs(towards[..., 2]) + 0.5
    towards /= np.linalg.norm(towards, axis=2, keepdims=True)
    depth_m = 0.001 * np.sin(np.arange(STEPS) * 0.1)[None, :, None]
    places: npt.NDArray[np.float64] = towards * (np.array(env.ORGAN_M) - depth_m)
    return places


def rows(values: npt.ArrayLike) -> str:
    return " ".join(f"{v:.9g}" for v in np.ravel(values))


def model() -> mujoco.MjModel:
    meshes = {"organ": env.ellipsoid(env.ORGAN_M), "needle": env.needle()}
    assets = "".join(f'<mesh name="{n}" vertex="{rows(p)}" face="{rows(t)}"/>' for n, (p, t) in meshes.items())
    axes = {"x": "1 0 0", "y": "0 1 0", "z": "0 0 1"}
    joints = "".join(f'<joint name="{a}" type="slide" axis="{axis}"/>' for a, axis in axes.items())
    motors = "".join(f'<position joint="{a}" kp="{KP}" kv="8"/>' for a in axes)
    return mujoco.MjModel.from_xml_string(
        f"""<mujoco><option timestep="0.001" gravity="0 0 0"/><asset>{assets}</asset>
        <worldbody><geom type="mesh" mesh="organ"/>
        <body><geom type="mesh" mesh="needle" mass="0.08"/>{joints}</body></worldbody>
        <actuator>{motors}</actuator></mujoco>"""
    )


def main() -> None:
    random = np.random.default_rng(3)
    places = walks(random)
    threads = os.cpu_count() or 1
    rival = model()
    datas = [mujoco.MjData(rival) for _ in range(threads)]
    start = mujoco.MjData(rival)
    state = np.zeros(mujoco.mj_stateSize(rival, mujoco.mjtState.mjSTATE_FULLPHYSICS))
    starts = np.zeros((HANDS, len(state)))
    for hand in range(HANDS):
        start.qpos[:] = places[hand, 0]
        mujoco.mj_getState(rival, start, state, mujoco.mjtState.mjSTATE_FULLPHYSICS)
        starts[hand] = state
    poses = np.zeros((HANDS, 7))
    poses[:, 6] = 1
    took: dict[str, list[float]] = {"batch": [], "rollout": []}
    with palpate.Batch({"organ": env.ellipsoid(env.ORGAN_M)}, env.needle(), HANDS, stiffness_n_per_m=KP) as batch:
        for _ in range(ROUNDS):
            began, pressed = time.perf_counter(), 0.0
            for step in range(STEPS):
                poses[:, :3] = places[:, step]
                pressed += float(np.linalg.norm(batch.step(poses).force_n, axis=1).mean()) / STEPS
            took["batch"].append(time.perf_counter() - began)
            began = time.perf_counter()
            mujoco.rollout.rollout(rival, datas, starts, places)
            took["rollout"].append(time.perf_counter() - began)
            batch.reset()
    for name, seconds in took.items():
        rates = sorted(HANDS * STEPS / s for s in seconds)
        print(f"{name}: {rates[len(rates) // 2]:,.0f} hand-steps a second ({rates[0]:,.0f} to {rates[-1]:,.0f})")
    print(f"{threads} threads, mean force of the batch {pressed:.3f} N")


if __name__ == "__main__":
    main()
