"""A grasper in Newton lifts a soft organ, and Palpate tells its forces and contacts.

    pip install 'clients/python[newton]'
    python newton_grasper.py [ADDRESS] [--picture grasper.png]

Newton's VBD solver moves the organ's 315 particles and holds them to the jaws by its own contacts.
`palpate.newton.SoftContacts` gives the force on each jaw, friction included, and where the organ touches it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import newton
import numpy as np
import numpy.typing as npt
import warp as wp

import palpate
from palpate.newton import SoftContacts

Array = npt.NDArray[np.float64]

STEP_S = 1 / 480
CELL_M, CELLS, RADIUS_M = 0.01, (8, 6, 4), 0.001
JAW_M = (0.012, 0.003, 0.012)
# Each jaw goes 7 mm past where the organ's side was; then both rise.
GRIP_M, LIFT_M = 0.007, 0.03
CLOSE_S, LIFT_S, HOLD_S = 0.5, 1.0, 1.0
TOTAL_S = CLOSE_S + LIFT_S + HOLD_S


def model() -> Any:
    """An organ on the ground between two jaws."""
    builder = newton.ModelBuilder()
    builder.add_ground_plane()
    width = CELL_M * np.array(CELLS)
    builder.add_soft_grid(
        pos=wp.vec3(-width[0] / 2, -width[1] / 2, 0.001),
        rot=wp.quat_identity(),
        vel=wp.vec3(0.0),
        **dict(zip(("dim_x", "dim_y", "dim_z"), CELLS, strict=True)),
        **dict.fromkeys(("cell_x", "cell_y", "cell_z"), CELL_M),
        density=300.0,
        k_mu=5e3,
        k_lambda=2e4,
        k_damp=5.0,
        particle_radius=RADIUS_M,
    )
    rough = newton.ModelBuilder.ShapeConfig(mu=1.0, kd=0.0)
    for side in (-1, 1):
        body = builder.add_body(xform=jaw(side, 0.0), label=f"jaw {side:+d}", is_kinematic=True)
        builder.add_shape_box(body, hx=JAW_M[0], hy=JAW_M[1], hz=JAW_M[2], cfg=rough)
    builder.color()
    made = builder.finalize(device="cpu")
    made.soft_contact_ke, made.soft_contact_kd, made.soft_contact_mu = 1e3, 0.0, 1.0
    return made


def jaw(side: int, time_s: float) -> Any:
    """Where a jaw is: it closes, rises and stays."""
    ends = np.cumsum([0, CLOSE_S, LIFT_S, HOLD_S])
    gap = np.interp(time_s, ends, [0.004, -GRIP_M, -GRIP_M, -GRIP_M])
    height = np.interp(time_s, ends, [0.02, 0.02, 0.02 + LIFT_M, 0.02 + LIFT_M])
    return wp.transform((0.0, side * (CELL_M * CELLS[1] / 2 + JAW_M[1] + gap), height), wp.quat_identity())


@dataclass(frozen=True)
class Step:
    """What a step met."""

    time_s: float
    # Forces on the jaws, `(2, 3)`, newtons.
    jaws_n: Array
    # Palpate's contacts with the jaws, and the least distance.
    n_contacts: int
    nearest_m: float
    particles_m: Array


def run(address: str, seconds: float = TOTAL_S) -> Iterator[Step]:
    """Closes, lifts and holds."""
    made = model()
    solver = newton.solvers.SolverVBD(
        model=made, iterations=30, particle_enable_self_contact=False, particle_enable_tile_solve=False
    )
    now, then, control = made.state(), made.state(), made.control()
    pipeline = newton.CollisionPipeline(made)
    touching = pipeline.contacts()
    # Newton holds particles a particle's radius away.
    report = palpate.Report(contact_margin_m=2 * RADIUS_M, max_contacts=1000)
    observables = solver.observables(kinds={solver.ObservableKind.CONTACT_F}, contacts=touching)
    with (
        palpate.connect(address) as server,
        server.create_scene("newton-grasper") as scene,
        SoftContacts(scene, made, "jaw*", state=now, force="solver", report=report) as contacts,
    ):
        for number in range(round(seconds / STEP_S)):
            time_s = number * STEP_S
            now.body_q.assign([jaw(side, time_s) for side in (-1, 1)])
            now.clear_forces()
            pipeline.collide(now, touching)
            solver.step(now, then, control, touching, STEP_S, observables=observables)
            contacts.update(then, observables)
            now, then = then, now
            found = contacts.contacts()
            nearest = float(found.signed_distance_m.min(initial=np.inf))
            forces = contacts.total_force.numpy().copy()
            yield Step(time_s, forces, len(found.bodies), nearest, now.particle_q.numpy().copy())


def picture(steps: list[Step], file: Path) -> None:
    """Draws the organ held, and the forces over time."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    made = model()
    figure = pyplot.figure(figsize=(9, 4), layout="constrained")
    scene = figure.add_subplot(1, 2, 1, projection="3d", computed_zorder=False)
    curve = figure.add_subplot(1, 2, 2, xlabel="time, s", ylabel="force, N")
    organ = 1e3 * steps[-1].particles_m[made.tri_indices.numpy()]
    scene.add_collection3d(Poly3DCollection(organ, facecolors="indianred", edgecolors="#80303030", shade=True))
    box = newton.Mesh.create_box(*JAW_M, duplicate_vertices=False, compute_inertia=False)
    for side in (-1, 1):
        at = np.array(jaw(side, steps[-1].time_s))[:3]
        corners = 1e3 * (np.asarray(box.vertices) + at)[np.asarray(box.indices).reshape(-1, 3)]
        scene.add_collection3d(Poly3DCollection(corners, facecolors="lightsteelblue", alpha=0.8, shade=True))
    scene.set(xlim=(-45, 45), ylim=(-45, 45), zlim=(0, 75), box_aspect=(1, 1, 0.83))
    scene.view_init(12, -30)
    scene.set_title(f"{steps[-1].time_s:.1f} s; axes in millimetres", fontsize=10)
    times = [step.time_s for step in steps]
    curve.plot(times, [-step.jaws_n[0, 1] for step in steps], label="grip of a jaw")
    curve.plot(times, [-step.jaws_n[:, 2].sum() for step in steps], label="weight on both jaws")
    weight = 9.81 * float(made.particle_mass.numpy().sum())
    curve.axhline(weight, color="black", linestyle=":", label="the organ's weight")
    curve.legend()
    figure.savefig(file, dpi=90)
    pyplot.close(figure)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("address", nargs="?", default="127.0.0.1:7447")
    arguments.add_argument("--picture", type=Path, help="where to write a picture (.png)")
    arguments.add_argument("--seconds", type=float, default=TOTAL_S, help="simulated time")
    given = arguments.parse_args()
    steps = []
    print("   time   grip of a jaw   weight on both jaws   contacts   nearest")
    for number, step in enumerate(run(given.address, given.seconds)):
        steps.append(step)
        if number % 60 == 0:
            grip, weight = -step.jaws_n[0, 1], -step.jaws_n[:, 2].sum()
            nearest = f"{1e3 * step.nearest_m:6.2f} mm" if step.n_contacts else ""
            print(f"{step.time_s:5.2f} s {grip:12.2f} N {weight:18.2f} N {step.n_contacts:10} {nearest:>12}")
    if given.picture:
        picture(steps, given.picture)


if __name__ == "__main__":
    main()
