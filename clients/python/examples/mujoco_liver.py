"""A liver in MuJoCo under a probe in Palpate: what the probe presses on is moved by the solver, and pushes back.

    pip install 'clients/python[mujoco]'
    python mujoco_liver.py [ADDRESS] [--film liver.gif]

`palpate.mujoco.Flex` makes a tissue of the solver's tetrahedra. Each step of the solver sends the nodes to Palpate,
then moves the probe by two rendered ticks of a millisecond. Each tick answers the force on the hand and the loads on
the nodes; their mean goes into the next step. All of it in lock-step, as fast as the two can.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np
import numpy.typing as npt

import palpate
from palpate.mujoco import Flex

Array = npt.NDArray[np.float64]

# The solver receives the probe's force a step late, like that of a spring without damping: with steps of 4 ms the
# contact oscillates by 30 mN, with 2 ms by 5 mN. Stiffer tissue, more damping or longer steps make MuJoCo's solve
# ill-conditioned, and MuJoCo warns.
STEP_S = 0.002
TICKS_PER_STEP = 2
MODEL = """
<mujoco>
  <option integrator="discrete" solver="Newton" timestep="{step_s}" gravity="0 0 0"/>
  <worldbody>
    <flexcomp name="liver" type="gmsh" file="{file}" dim="3" mass="0.4" radius="0.0005">
      <elasticity young="12e3" poisson="0.4" damping="0.02"/>
      <contact contype="0" conaffinity="0" selfcollide="none"/>
      <pin id="{pinned}"/>
    </flexcomp>
  </worldbody>
</mujoco>
"""
BALL_RADIUS_M = 0.008
STIFFNESS_N_PER_M = 300.0
PRESS_M = 0.012
# Duration of each part of the path, in seconds.
PRESS_S, HOLD_S, DRAG_S, RELEASE_S, FREE_S = 1.0, 0.5, 1.0, 0.7, 0.8
TOTAL_S = PRESS_S + HOLD_S + DRAG_S + RELEASE_S + FREE_S


class Liver:
    """The deformable body in MuJoCo."""

    def __init__(self) -> None:
        file = Path(__file__).with_name("liver.msh")
        lines = file.read_text().splitlines()
        begin = lines.index("$Nodes") + 2
        nodes = np.loadtxt(lines[begin : lines.index("$EndNodes")], usecols=(1, 2, 3))
        # The liver lies on its lower side.
        pinned = np.flatnonzero(nodes[:, 2] < -0.016)
        xml = MODEL.format(step_s=STEP_S, file=file, pinned=" ".join(map(str, pinned)))
        self.model = mujoco.MjModel.from_xml_string(xml)
        self.data = mujoco.MjData(self.model)
        mujoco.mj_forward(self.model, self.data)
        self.tetrahedra = self.model.flex_elem.reshape(-1, 4)
        # Its surface, for pictures.
        self.triangles = self.model.flex_shell.reshape(-1, 3)

    @property
    def nodes_m(self) -> Array:
        """Positions now."""
        nodes: Array = self.data.flexvert_xpos
        return nodes

    @property
    def warnings(self) -> dict[str, int]:
        """What the solver warned of, and how often."""
        kinds = [mujoco.mjtWarning(i).name for i in range(len(self.data.warning))]
        return {kind: w.number for kind, w in zip(kinds, self.data.warning, strict=True) if w.number}


def ball(radius_m: float, rings: int = 12) -> tuple[Array, npt.NDArray[np.int64]]:
    """A closed ball of latitudes and longitudes."""
    turns = 2 * rings
    latitude = np.pi * np.arange(1, rings) / rings
    longitude = 2 * np.pi * np.arange(turns) / turns
    xyz = [
        np.outer(np.sin(latitude), np.cos(longitude)),
        np.outer(np.sin(latitude), np.sin(longitude)),
        np.outer(np.cos(latitude), np.ones(turns)),
    ]
    points = np.vstack([np.stack(xyz, axis=-1).reshape(-1, 3), [0, 0, 1], [0, 0, -1]])
    top, bottom = len(points) - 2, len(points) - 1
    triangles = []
    for j in range(turns):
        k = (j + 1) % turns
        triangles += [[top, j, k], [bottom, (rings - 2) * turns + k, (rings - 2) * turns + j]]
        for i in range(rings - 2):
            a, b = i * turns + j, i * turns + k
            triangles += [[a, a + turns, b], [b, a + turns, b + turns]]
    return radius_m * points, np.array(triangles)


def device_m(touch_m: Array, time_s: float) -> Array:
    """Where the hand is: it presses, holds, drags, lets go and waits."""
    ends = np.cumsum([0, PRESS_S, HOLD_S, DRAG_S, RELEASE_S, FREE_S])
    depth = np.interp(time_s, ends, [-0.005, PRESS_M, PRESS_M, PRESS_M, -0.02, -0.02])
    aside = np.interp(time_s, ends, [0, 0, 0, 0.015, 0.015, 0.015])
    return touch_m + (aside, 0, -depth)


@dataclass(frozen=True)
class Step:
    """What a step of the solver met. Forces are means over its ticks, newtons; positions those of the last tick."""

    time_s: float
    device_m: Array
    proxy_m: Array
    # Forces on the hand, of the proxy's contacts, on the nodes, and of the tissue against them.
    hand_n: Array
    contacts_n: Array
    loads_n: Array
    elastic_n: Array
    states: tuple[palpate.RenderState, ...]
    # The rate limit was changing the force on the hand, which had not reached its final value.
    limited: bool
    # Positions that the ticks used.
    nodes_m: Array


def run(address: str, liver: Liver, seconds: float = TOTAL_S) -> Iterator[Step]:
    """Goes along the path, again and again for as long as it is told."""
    with palpate.connect(address) as server, server.create_scene("mujoco-liver") as scene:
        flex = Flex(scene, liver.model, liver.data, "liver")
        probe = scene.add_tool("probe", ball(BALL_RADIUS_M))
        touch_m = touched(lambda at: scene.query_contacts(probe, at).links[0].signed_distance_m)
        render = palpate.Render(
            probe, stiffness_n_per_m=STIFFNESS_N_PER_M, friction=0.2, max_force_n=10.0, tissue_loads=True
        )
        with scene.track([probe], render=[render]) as loop:
            for step in range(round(seconds / STEP_S)):
                nodes = liver.nodes_m.copy()
                flex.deform()
                hand, contacts, loads, states = np.zeros(3), np.zeros(3), np.zeros_like(nodes), []
                limited = False
                for tick in range(1, TICKS_PER_STEP + 1):
                    time_s = (step + tick / TICKS_PER_STEP) * STEP_S
                    device = device_m(touch_m, time_s % TOTAL_S)
                    rendering = loop.tick(device).renderings[0]
                    hand += rendering.force_n / TICKS_PER_STEP
                    contacts += rendering.contact_force_xyz_n.sum(axis=0) / TICKS_PER_STEP
                    loads += flex.loads_n([rendering]) / TICKS_PER_STEP
                    states.append(rendering.state)
                    limited |= rendering.limited
                flex.apply_loads(loads)
                mujoco.mj_step(liver.model, liver.data)
                # Sum over the vertices that move; pinned vertices have no degree of freedom.
                elastic = liver.data.qfrc_passive.reshape(-1, 3).sum(axis=0)
                proxy = rendering.proxy.position_m
                yield Step(time_s, device, proxy, hand, contacts, loads, elastic, tuple(states), limited, nodes)


def touched(distance_m: Callable[[Array], float]) -> Array:
    """Where the probe first touches, from above."""
    at = np.array([-0.01, 0.003, 0.1])
    while (away := distance_m(at)) > 1e-6:
        at[2] -= away
    return at


def film(steps: list[Step], liver: Liver, file: Path, frames: int = 60) -> None:
    """Draws the liver, the probe's proxy, the hand as its shadow, and the force over time, as an animated picture."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import animation, pyplot
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    figure = pyplot.figure(figsize=(9, 4), layout="constrained")
    scene = figure.add_subplot(1, 2, 1, projection="3d", computed_zorder=False)
    curve = figure.add_subplot(1, 2, 2, xlabel="time, s", ylabel="force on the hand, N")
    times = [step.time_s for step in steps]
    for axis, name in enumerate("xyz"):
        curve.plot(times, [step.hand_n[axis] for step in steps], label=name)
    curve.legend()
    now = curve.axvline(0, color="black")
    rest, sphere = steps[0].nodes_m, ball(BALL_RADIUS_M)

    def draw(frame: int) -> None:
        step = steps[frame * (len(steps) - 1) // max(frames - 1, 1)]
        for old in list(scene.collections):
            old.remove()
        # Brighter with displacement, white at 10 mm.
        moved = 100 * np.linalg.norm(step.nodes_m - rest, axis=1)[liver.triangles].mean(axis=1)
        colours = pyplot.cm.gist_heat(0.35 + 0.5 * np.clip(moved, 0, 1))
        points, triangles = sphere
        shown = [
            Poly3DCollection(1e3 * step.nodes_m[liver.triangles], facecolors=colours, shade=True),
            Poly3DCollection(1e3 * (points + step.device_m)[triangles], facecolors="#40404020"),
            Poly3DCollection(1e3 * (points + step.proxy_m)[triangles], facecolors="lightsteelblue", shade=True),
        ]
        for one in shown:
            scene.add_collection3d(one)
        now.set_xdata([step.time_s])
        scene.set_title(f"{step.time_s:.2f} s, {step.states[-1].name.lower()}")

    scene.set(xlim=(-60, 60), ylim=(-60, 60), zlim=(-30, 60), box_aspect=(1, 1, 0.75))
    scene.set_axis_off()
    scene.view_init(20, -70)
    made = animation.FuncAnimation(figure, draw, frames=frames)
    made.save(file, writer=animation.PillowWriter(fps=15))
    pyplot.close(figure)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("address", nargs="?", default="127.0.0.1:7447")
    arguments.add_argument("--film", type=Path, help="where to write an animated picture (.gif)")
    arguments.add_argument("--seconds", type=float, default=TOTAL_S, help="simulated time")
    given = arguments.parse_args()
    liver, steps = Liver(), []
    print("  time   device   proxy above it   force on the hand   on the tissue")
    for number, step in enumerate(run(given.address, liver, given.seconds)):
        steps.append(step)
        if number % 50 == 0:
            device_mm, behind_mm = 1e3 * step.device_m[2], 1e3 * np.linalg.norm(step.proxy_m - step.device_m)
            hand, loads = np.linalg.norm(step.hand_n), np.linalg.norm(step.loads_n.sum(axis=0))
            print(f"{step.time_s:5.2f} s {device_mm:6.1f} mm {behind_mm:11.1f} mm {hand:17.2f} N {loads:13.2f} N")
    print(f"warnings of the solver: {liver.warnings or 'none'}")
    if given.film:
        film(steps, liver, given.film)


if __name__ == "__main__":
    main()
