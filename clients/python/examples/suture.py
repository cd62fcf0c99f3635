"""A jaw of a needle holder pulls a suture that is held at both ends, and feels its tension.

    python suture.py [ADDRESS]

without an address with a server of its own. The thread is a line of points with springs, `palpate.Tube` makes a tissue
of it. Each millisecond the jaw moves, Palpate answers its force and the load on the points, and the points move. The
force is that of an elastic string that is pulled at its middle.
"""

from __future__ import annotations

import sys

import numpy as np
import numpy.typing as npt

import palpate

Array = npt.NDArray[np.float64]

N_POINTS = 31
LENGTH_M, RADIUS_M = 0.1, 0.0005
# Newtons at which the thread would be twice as long.
STIFFNESS_N = 12.0
# Tension at rest, as a stretch.
SLACK = 0.98
# The thread has no mass, but moves as in a viscous fluid, in which a point has this drag.
DRAG_N_S_PER_M = 0.4
DT_S, SUBSTEPS = 0.001, 50
PULL_M, PULL_S, HOLD_S = 0.015, 0.4, 0.4


class Thread:
    """Points with springs between them, the first and the last of which do not move."""

    def __init__(self) -> None:
        along = np.linspace(-LENGTH_M / 2, LENGTH_M / 2, N_POINTS)
        self.points_m: Array = np.stack([0 * along, along, 0 * along], axis=1)
        self._rest_m = SLACK * LENGTH_M / (N_POINTS - 1)

    def step(self, loads_n: Array) -> None:
        """Moves the points by a millisecond under loads from outside."""
        for _ in range(SUBSTEPS):
            spans = np.diff(self.points_m, axis=0)
            lengths = np.sqrt((spans**2).sum(axis=1, keepdims=True))
            tension = STIFFNESS_N * (1 / self._rest_m - 1 / lengths) * spans
            forces = loads_n[1:-1] + np.diff(tension, axis=0)
            self.points_m[1:-1] += DT_S / SUBSTEPS / DRAG_N_S_PER_M * forces


def pull_of_a_string_n(way_m: float) -> float:
    """The force that holds the middle of the string that far aside."""
    half = np.hypot(LENGTH_M / 2, way_m)
    return float(2 * STIFFNESS_N * (2 * half / (SLACK * LENGTH_M) - 1) * way_m / half)


def run(address: str) -> tuple[Array, Array, Array]:
    """Returns the force on the hand over time `(n,)`, the thread at last, and the proxy at last."""
    thread = Thread()
    tube = palpate.Tube(thread.points_m, RADIUS_M)
    # The jaw is a rod across the thread, below it.
    jaw = palpate.Tube([[-0.01, 0, 0], [0.01, 0, 0]], 0.0015, sides=24)
    below = np.array([0, 0, -0.0025])
    felt = []
    with palpate.connect(address) as server, server.create_scene("suture") as scene:
        suture = scene.add_tissue("suture", tube.mesh, binding=tube.binding)
        tool = scene.add_tool("jaw", jaw.mesh)
        render = palpate.Render(tool, stiffness_n_per_m=400.0, max_force_n=10.0, tissue_loads=True)
        with scene.track([tool], render=[render]) as loop:
            for n in range(round((PULL_S + HOLD_S) / DT_S)):
                up = min(n * DT_S / PULL_S, 1.0) * PULL_M
                rendering = loop.tick(below + [0, 0, up]).renderings[0]
                loads = np.zeros_like(thread.points_m)
                for load in rendering.tissue_loads:
                    loads += tube.loads_n(load)
                thread.step(loads)
                suture.deform(controls=tube.frames(thread.points_m))
                felt.append(-rendering.force_n[2])
    return np.array(felt), thread.points_m, rendering.proxy.position_m


def main() -> None:
    if len(sys.argv) > 1:
        felt, thread, _ = run(sys.argv[1])
    else:
        with palpate.start() as server:
            felt, thread, _ = run(server.address)
    way = thread[:, 2].max()
    print(f"the jaw pulls the thread {1e3 * way:.1f} mm aside and feels {felt[-1]:.2f} N,")
    print(f"an elastic string needs {pull_of_a_string_n(way):.2f} N")


if __name__ == "__main__":
    main()
