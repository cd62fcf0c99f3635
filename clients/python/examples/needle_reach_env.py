"""A learning environment: needles that shall touch a point of an organ without pressing it.

    python examples/needle_reach_env.py [ENVIRONMENTS]

Many environments step together, in the manner of Gymnasium's vector environments: `reset(seed)` and `step(actions)`
with arrays of all environments. Equal seeds and actions give equal results. Needs the wheel with the engine, or the C
library in PALPATE_LIBRARY; NumPy alone.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
import numpy.typing as npt

import palpate

Array = npt.NDArray[Any]
ORGAN_M, NEEDLE_M, NEEDLE_RADIUS_M = (0.06, 0.05, 0.04), 0.05, 0.001
STEP_MAX_M, REACHED_M, FORCE_MAX_N, STEPS_MAX = 0.002, 0.0015, 0.5, 200


def ellipsoid(radii: tuple[float, float, float], n: int = 48) -> tuple[Array, Array]:
    """A closed surface of rings about z."""
    polar = np.linspace(0, np.pi, n + 1)[1:-1, None]
    around = np.linspace(0, 2 * np.pi, 2 * n, endpoint=False)[None]
    rings = np.stack(
        np.broadcast_arrays(np.sin(polar) * np.cos(around), np.sin(polar) * np.sin(around), np.cos(polar)), -1
    )
    points = np.concatenate([[[0, 0, 1]], rings.reshape(-1, 3), [[0, 0, -1]]])
    ring, k = np.arange(n - 2)[:, None] * 2 * n + 1, np.arange(2 * n)[None]
    a, b = ring + k, ring + (k + 1) % (2 * n)
    sides = np.concatenate([np.stack([a, a + 2 * n, b + 2 * n], -1), np.stack([a, b + 2 * n, b], -1)])
    last, low = len(points) - 1, (n - 2) * 2 * n + 1
    k = k[0]
    caps = [
        np.stack([0 * k, 1 + k, 1 + (k + 1) % (2 * n)], -1),
        np.stack([0 * k + last, low + (k + 1) % (2 * n), low + k], -1),
    ]
    return points * radii, np.concatenate([sides.reshape(-1, 3), *caps])


def needle() -> tuple[Array, Array]:
    """The tool: its tip is at the origin."""
    points, sides = ellipsoid((NEEDLE_RADIUS_M, NEEDLE_RADIUS_M, NEEDLE_M / 2), 8)
    return points + [0, 0, NEEDLE_M / 2], sides


class NeedleReach:
    """`n` environments.

    An observation has nine numbers: the way from the tip to its target, the force on the hand, the distance of the
    needle from the organ, the number of contacts, and 1 if the needle touches. An action is a displacement of the hand,
    metres, at most 2 mm along each axis.
    """

    def __init__(self, n: int) -> None:
        self.batch = palpate.Batch({"organ": ellipsoid(ORGAN_M)}, needle(), n, stiffness_n_per_m=300)
        self._poses = np.tile([0, 0, 0, 0, 0, 0, 1.0], (n, 1))
        self._targets, self._steps = np.zeros((n, 3)), np.zeros(n, int)
        self._random = np.random.default_rng()

    def close(self) -> None:
        self.batch.close()

    def reset(self, seed: int | None = None) -> tuple[Array, dict[str, Array]]:
        """Begins all environments anew. Returns observations `(n, 9)`."""
        if seed is not None:
            self._random = np.random.default_rng(seed)
        self._begin(np.arange(len(self.batch)))
        return self._observe(self.batch.step(self._poses)), {}

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, dict[str, Array]]:
        """Moves all hands. Returns observations, rewards, what has ended, what was cut off, and the targets that were
        reached. Environments that end begin anew, and their observation is that of the new beginning.
        """
        self._poses[:, :3] += np.clip(actions, -STEP_MAX_M, STEP_MAX_M)
        self._steps += 1
        answer = self.batch.step(self._poses, dt_s=0.01)
        force_n = np.linalg.norm(answer.force_n, axis=1)
        away_m = np.linalg.norm(self._targets - answer.proxy[:, :3], axis=1)
        reached, hurt = away_m < REACHED_M, force_n > FORCE_MAX_N
        rewards = -away_m / 0.1 - force_n + 10.0 * reached - 10.0 * hurt
        ended, cut_off = reached | hurt, self._steps >= STEPS_MAX
        over = np.flatnonzero(ended | cut_off)
        if len(over):
            self._begin(over)
            answer = self.batch.step(self._poses, dt_s=0.0)
        return self._observe(answer), rewards, ended, cut_off & ~ended, {"reached": reached}

    def _begin(self, which: Array) -> None:
        """Puts hands above the organ, and a target on its upper side."""
        towards = self._random.normal(size=(len(which), 3))
        towards[:, 2] = np.abs(towards[:, 2]) + 0.5
        towards /= np.linalg.norm(towards, axis=1, keepdims=True)
        self._targets[which] = towards * ORGAN_M
        self._poses[which, :3] = self._random.uniform([-0.03, -0.03, 0.06], [0.03, 0.03, 0.08], (len(which), 3))
        self._steps[which] = 0
        self.batch.reset(which)

    def _observe(self, answer: palpate.BatchAnswer) -> Array:
        touches = answer.renderings["state"] == palpate.RenderState.TOUCHING
        columns = [
            self._targets - answer.proxy[:, :3],
            answer.force_n,
            answer.distance_m,
            answer.renderings["n_contacts"][:, None],
            touches[:, None],
        ]
        return np.hstack(columns)


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 256
    environment = NeedleReach(n)
    seen, _ = environment.reset(seed=1)
    random, n_reached, n_steps = np.random.default_rng(2), 0, 200
    began = time.perf_counter()
    for _ in range(n_steps):
        # A policy that goes where its target is, with a shaking hand.
        actions = 0.3 * seen[:, :3] + random.normal(0, 2e-4, (n, 3))
        seen, _, _, _, told = environment.step(actions)
        n_reached += int(told["reached"].sum())
    took_s = time.perf_counter() - began
    environment.close()
    print(
        f"{n} environments: {n * n_steps / took_s:,.0f} steps a second, {n_reached} targets reached, {seen.sum():.12f}"
    )


if __name__ == "__main__":
    main()
