"""Newton's VBD solver beside Palpate: a ball pressed into a soft block, its weight, and a grasper.

`PALPATE_TEST_SCALE` makes the ball press that many times as long: 60 is a minute. Newton compiles its kernels in the
first run on a machine, which takes a minute or two.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import ServerProgram

import palpate

pytest.importorskip("newton", reason="Newton is not installed: it has no wheel for every machine")
trimesh = pytest.importorskip("trimesh")
pytest.importorskip("matplotlib", reason="Matplotlib is not installed")

import newton  # noqa: E402
import newton_grasper  # noqa: E402
import warp as wp  # noqa: E402

from palpate.newton import SoftContacts  # noqa: E402

SCALE = float(os.environ.get("PALPATE_TEST_SCALE", "1"))
TOP_M, RADIUS_M, HZ = 0.04, 0.01, 480
GRAVITY = 9.81


@pytest.fixture(scope="module")
def scenes(program: ServerProgram) -> Iterator[Callable[[], palpate.Scene]]:
    with palpate.connect(program.address) as server:
        yield lambda: server.create_scene("newton", replace=True)


def builder_of(add: Callable[[Any], None], mu: float = 1e3) -> Any:
    """A block of 1 cm cells on the plane z = 0, without damping, and what `add` adds."""
    builder = newton.ModelBuilder()
    builder.add_soft_grid(
        pos=wp.vec3(-0.05, -0.05, 0.0),
        rot=wp.quat_identity(),
        vel=wp.vec3(0.0),
        dim_x=10,
        dim_y=10,
        dim_z=4,
        cell_x=0.01,
        cell_y=0.01,
        cell_z=0.01,
        density=1000.0,
        k_mu=mu,
        k_lambda=4 * mu,
        k_damp=0.0,
        particle_radius=0.001,
    )
    for particle in np.flatnonzero(np.array(builder.particle_q)[:, 2] < 1e-6):
        builder.particle_mass[particle] = 0.0
    add(builder)
    return builder


def block(add: Callable[[Any], None], mu: float = 1e3, gravity: float = 0.0) -> Any:
    """The model of that."""
    builder = builder_of(add, mu)
    builder.color()
    made = builder.finalize(device="cpu")
    made.set_gravity((0.0, 0.0, -gravity))
    made.soft_contact_ke, made.soft_contact_kd, made.soft_contact_mu = 500.0, 0.0, 0.0
    return made


def at(*position_m: float) -> Any:
    return wp.transform(position_m, wp.quat_identity())


def ball(builder: Any, *, density: float = 0.0, label: str = "ball") -> None:
    body = builder.add_body(xform=at(0.001, 0.002, TOP_M + RADIUS_M + 2e-4), label=label, is_kinematic=not density)
    shape = newton.ModelBuilder.ShapeConfig(density=density, mu=0.0)
    builder.add_shape_sphere(body, radius=RADIUS_M, cfg=shape)


def vbd(model: Any, iterations: int = 10) -> Any:
    return newton.solvers.SolverVBD(
        model=model, iterations=iterations, particle_enable_self_contact=False, particle_enable_tile_solve=False
    )


def balanced(model: Any, state: Any) -> None:
    """What the body bears, the particles bear: force, and moment about the origin. Without gravity."""
    on_particles, (on_body,) = state.particle_f.numpy().astype(float), state.body_f.numpy().astype(float)
    centre = palpate.Pose(state.body_q.numpy()[0, :3]) @ palpate.Pose(model.body_com.numpy()[0])
    moment = np.cross(state.particle_q.numpy().astype(float), on_particles).sum(axis=0)
    assert np.abs(on_particles.sum(axis=0) + on_body[:3]).max() < 1e-5
    assert np.abs(moment + on_body[3:] + np.cross(centre.position_m, on_body[:3])).max() < 1e-6


def pressed_n(scene: palpate.Scene, hz: int, seconds: float, implicit: bool) -> np.ndarray:
    """Forces on a ball of 500 N/m that goes 6 mm deep within 0.2 s and stays, of each step."""
    model = block(ball)
    solver, now, then, control = vbd(model), model.state(), model.state(), model.control()
    forces = []
    with SoftContacts(scene, model, "ball", state=now, stiffness_n_per_m=500.0) as contacts:
        for step in range(round(seconds * hz)):
            depth = min(step / hz / 0.2, 1) * 0.006
            now.body_q.assign([at(0.001, 0.002, TOP_M + RADIUS_M - depth)])
            contacts.update(now)
            on_ball, loads = contacts.total_force.numpy()[0], contacts.loads_n()
            forces.append(on_ball[2])
            assert np.abs(loads.sum(axis=0) + on_ball).max() < 1e-5
            now.clear_forces()
            if implicit:
                mass = model.particle_mass.numpy().copy()
                with contacts.coupled(now, 1 / hz):
                    balanced(model, now)
                    solver.step(now, then, control, None, 1 / hz)
                assert np.array_equal(model.particle_mass.numpy(), mass)
            else:
                now.particle_f.assign(loads.astype(np.float32))
                solver.step(now, then, control, None, 1 / hz)
            now, then = then, now
    return np.array(forces)


def test_a_ball_that_presses_does_not_swing(scenes: Callable[[], palpate.Scene], figure: Callable[[str], None]) -> None:
    hold = pressed_n(scenes(), HZ, 1 + 0.5 * SCALE, implicit=True)[HZ:]
    figure(f"a ball in a block of Newton's, {len(hold) / HZ:.1f} s: {hold.mean():.3f} N, deviation {hold.std():.4f} N")
    assert 0.2 < hold.mean() < 0.5
    for part in np.array_split(hold, 4):
        # Three times what was seen.
        assert part.std() < 0.02 and part.mean() == pytest.approx(hold.mean(), abs=0.01)


def test_an_explicit_load_swings_in_long_steps(scenes: Callable[[], palpate.Scene]) -> None:
    """So that the test above can fail."""
    explicit, implicit = (pressed_n(scenes(), 120, 1.5, implicit)[120:] for implicit in (False, True))
    assert explicit.std() > 0.5
    assert implicit.std() < 0.03


@pytest.mark.parametrize("force", ["proxy", "solver"])
def test_the_force_of_a_resting_ball_is_its_weight(scenes: Callable[[], palpate.Scene], force: Any) -> None:
    model = block(lambda builder: ball(builder, density=15600.0), mu=5e3, gravity=GRAVITY)
    weight = float(model.body_mass.numpy()[0]) * GRAVITY
    solver, now, then, control = vbd(model), model.state(), model.state(), model.control()
    pipeline = newton.CollisionPipeline(model)
    touching = pipeline.contacts()
    observables = solver.observables(kinds={solver.ObservableKind.CONTACT_F}, contacts=touching)
    forces = []
    with SoftContacts(scenes(), model, "ball", state=now, force=force) as contacts:
        for _ in range(HZ):
            if force == "proxy":
                contacts.update(now)
                now.clear_forces()
                with contacts.coupled(now, 1 / HZ):
                    solver.step(now, then, control, None, 1 / HZ)
            else:
                now.clear_forces()
                pipeline.collide(now, touching)
                solver.step(now, then, control, touching, 1 / HZ, observables=observables)
                contacts.update(then, observables)
            now, then = then, now
            forces.append(contacts.total_force.numpy()[0])
        # It acts below the ball.
        where = contacts.position_matrix.numpy()[0, 0]
        assert np.abs(where[:2] - now.body_q.numpy()[0, :2]).max() < 0.002
    found = np.mean(forces[-HZ // 8 :], axis=0)
    # Newton's own contact has not come to rest yet: it creeps up to the weight.
    assert found[2] == pytest.approx(weight, rel=0.01 if force == "proxy" else 0.02)


def finer(model: Any, times: int) -> tuple[np.ndarray, np.ndarray]:
    """The block's boundary with each triangle in four, again and again. Its triangles lie in faces of tetrahedra."""
    mesh = trimesh.Trimesh(model.particle_q.numpy(), model.tri_indices.numpy().reshape(-1, 3), process=False)
    for _ in range(times):
        mesh = mesh.subdivide()
    mesh.remove_unreferenced_vertices()
    return np.asarray(mesh.vertices), np.asarray(mesh.faces)


@pytest.mark.parametrize("has_surface", [False, True])
def test_press_hold_drag_and_release(scenes: Callable[[], palpate.Scene], has_surface: bool) -> None:
    """By the particles as vertices, and by a surface of 16 times as many triangles that they carry."""
    model = block(ball)
    surface = finer(model, 2) if has_surface else None
    solver, now, then, control = vbd(model), model.state(), model.state(), model.control()
    rest = now.particle_q.numpy().copy()
    phases = {"press": 0.2, "hold": 0.2, "drag": 0.2, "release": 0.2, "apart": 0.3}
    ends = np.cumsum(list(phases.values()))
    forces: dict[str, list[np.ndarray]] = {phase: [] for phase in phases}
    render = {"friction": 0.3}
    with SoftContacts(scenes(), model, "ball", state=now, surface=surface, render=render) as contacts:
        for step in range(round(ends[-1] * HZ)):
            t = step / HZ
            phase = list(phases)[int(np.searchsorted(ends, t, side="right"))]
            up = np.interp(t, [0, *ends], [2e-4, -0.006, -0.006, -0.006, 0.005, 0.005])
            along = np.interp(t, ends[1:3], [0.0, 0.006])
            now.body_q.assign([at(0.001 + along, 0.002, TOP_M + RADIUS_M + up)])
            contacts.update(now)
            found = contacts.contacts()
            particles = now.particle_q.numpy().astype(float)
            of_weights = (found.weights[..., None] * particles[found.particles]).sum(axis=1)
            assert np.abs(of_weights - found.points_m).max(initial=0) < 1e-6
            forces[phase].append(contacts.total_force.numpy()[0].astype(float))
            now.clear_forces()
            with contacts.coupled(now, 1 / HZ):
                balanced(model, now)
                solver.step(now, then, control, None, 1 / HZ)
            now, then = then, now
        assert len(contacts.tissue.export().positions_m) == (len(surface[0]) if surface else len(rest))
    press, hold, drag, _, apart = (np.array(of) for of in forces.values())
    assert hold[-1, 2] > 0.2 and hold[len(hold) // 2 :, 2].std() < 0.02
    # What the brake of moving particles adds while it goes deeper.
    assert press[:, 2].max() < 1.3 * hold[-1, 2]
    assert np.linalg.norm(hold[-1, :2]) < 0.3 * hold[-1, 2]
    # Sliding: friction is a share of what presses, against the way; the brake adds to it.
    along, _, pressing = drag[len(drag) // 2 :].mean(axis=0)
    brake = 2 * 500 / HZ * 0.006 / phases["drag"]
    assert 0.28 * pressing < -along < 0.3 * pressing + brake
    assert not apart[1:].any()
    # Nothing damps the block: it swings by a tenth of what it was pressed.
    assert np.abs(now.particle_q.numpy() - rest).max() < 1e-3


def test_contacts_are_newton_s(scenes: Callable[[], palpate.Scene]) -> None:
    """Of a sphere and a box: particles that Newton finds inside are corners of contacts, as deep and as turned."""

    def add(builder: Any) -> None:
        ball(builder)
        body = builder.add_body(xform=at(-0.03, 0.0, 0.041), label="box", is_kinematic=True)
        builder.add_shape_box(body, hx=0.012, hy=0.015, hz=0.005)

    model = block(add)
    now = model.state()
    tilted = wp.transform((-0.03, 0.0, 0.041), wp.quat_from_axis_angle(wp.vec3(1.0, 0.0, 0.0), 0.2))
    # Between four particles, 2.7 mm from being out.
    now.body_q.assign([at(0.005, 0.005, TOP_M + RADIUS_M - 0.008), tilted])
    pipeline = newton.CollisionPipeline(model)
    touching = pipeline.contacts()
    pipeline.collide(now, touching)
    report = palpate.Report(contact_margin_m=0.001, max_contacts=1000)
    with SoftContacts(
        scenes(), model, ["ball", "box"], state=now, force="penalty", stiffness_n_per_m=100.0, report=report
    ) as contacts:
        contacts.update(now)
        found = contacts.contacts()
        total = contacts.total_force.numpy()
    particles = now.particle_q.numpy().astype(float)
    # A contact's point is what its weights say.
    assert np.abs((found.weights[..., None] * particles[found.particles]).sum(axis=1) - found.points_m).max() < 1e-6
    count = int(touching.soft_contact_count.numpy()[0])
    bodies = model.shape_body.numpy()[touching.soft_contact_shape.numpy()[:count]]
    frames = [palpate.Pose(q[:3], q[3:]).matrix for q in now.body_q.numpy()]
    inside = {0: 0, 1: 0}
    for body, particle, on_body, normal in zip(
        bodies,
        touching.soft_contact_particle.numpy()[:count],
        touching.soft_contact_body_pos.numpy()[:count],
        touching.soft_contact_normal.numpy()[:count],
        strict=True,
    ):
        anchor = frames[body] @ [*on_body, 1]
        distance = float(normal @ (particles[particle] - anchor[:3]))
        if distance > -1e-4:
            continue
        inside[int(body)] += 1
        own = (found.bodies == body) & (found.particles == particle).any(axis=1)
        # The deepest point of a triangle is as deep as its corner.
        assert own.any() and found.signed_distance_m[own].min() < distance + 2e-5
        corner = own & (np.where(found.particles == particle, found.weights, 0).sum(axis=1) > 0.999)
        assert found.signed_distance_m[corner] == pytest.approx(distance, abs=2e-5)
        # From the tissue to the shape, where Newton's goes from the shape to the particle.
        assert (found.normals[corner] @ -normal > 0.99).all()
    assert inside[0] >= 4 and inside[1] >= 4
    depths = np.maximum(-found.signed_distance_m, 0)
    expected = [100 * (depths[:, None] * found.normals)[found.bodies == body].sum(axis=0) for body in (0, 1)]
    assert total == pytest.approx(np.array(expected), abs=1e-5)
    # The ball is pushed up. The box is nearer to its lower side.
    assert total[0, 2] > 0.1 and total[1, 2] < -0.1


def test_a_grasper_lifts_an_organ(program: ServerProgram, tmp_path: Path) -> None:
    steps = list(newton_grasper.run(program.address, 0.9))
    weight = GRAVITY * float(newton_grasper.model().particle_mass.numpy().sum())
    late = steps[-48:]
    assert late[-1].particles_m[:, 2].min() > 0.005
    # Both jaws press with as much, and bear what hangs between them; it rises steadily.
    for step in late:
        left, right = step.jaws_n
        assert left[1] == pytest.approx(-right[1], rel=0.01) and left[1] < -2
        assert -left[2] - right[2] == pytest.approx(weight, rel=0.02)
        assert step.n_contacts > 20
    newton_grasper.picture(steps[-2:], tmp_path / "grasper.png")
    assert (tmp_path / "grasper.png").stat().st_size > 10_000


def test_an_answer_that_lacks_something_is_told(scenes: Callable[[], palpate.Scene]) -> None:
    model = block(ball)
    now = model.state()
    deep = at(0.001, 0.002, TOP_M - 0.01)
    scene = scenes()
    with SoftContacts(
        scene, model, "ball", force="penalty", report=palpate.Report(max_contacts=2, contact_margin_m=1e-4)
    ) as contacts:
        assert not contacts.is_complete
        contacts.update(now)
        assert contacts.is_complete
        now.body_q.assign([deep])
        contacts.update(now)
        assert not contacts.is_complete and len(contacts.contacts().bodies) == 2
    # A proxy that begins inside has no side to come out at.
    with SoftContacts(scene, model, "ball", state=now) as contacts:
        contacts.update(now)
        assert not contacts.is_complete and not contacts.total_force.numpy().any()


def test_a_body_is_held_at_its_centre_of_mass(scenes: Callable[[], palpate.Scene]) -> None:
    """A ball 0.1 m beside the origin of its body: turning about the origin would give to it."""

    def add(builder: Any) -> None:
        body = builder.add_body(xform=at(0.101, 0.002, TOP_M + RADIUS_M + 2e-4), label="ball", is_kinematic=True)
        builder.add_shape_sphere(body, xform=at(-0.1, 0.0, 0.0), radius=RADIUS_M)

    model = block(add)
    now = model.state()
    with SoftContacts(scenes(), model, "ball", state=now, stiffness_n_per_m=500.0) as contacts:
        contacts.update(now)
        for depth in np.linspace(0, 0.006, 13):
            now.body_q.assign([at(0.101, 0.002, TOP_M + RADIUS_M - depth)])
            contacts.update(now)
        assert contacts.is_complete
        assert contacts.total_force.numpy()[0, 2] == pytest.approx(500 * 0.006, rel=0.02)


def test_what_cannot_be_is_refused(scenes: Callable[[], palpate.Scene]) -> None:
    model = block(ball)
    scene = scenes()
    with pytest.raises(ValueError, match="no body 'bell', expected one of .*ball"):
        SoftContacts(scene, model, "bell")
    with pytest.raises(ValueError, match="no body 3"):
        SoftContacts(scene, model, 3)
    with pytest.raises(ValueError, match="force is 'touch', expected"):
        SoftContacts(scene, model, "ball", force="touch")  # type: ignore[arg-type]
    with SoftContacts(scene, model, "ball", force="solver") as contacts:
        with pytest.raises(RuntimeError, match="before the first update"):
            contacts.contacts()
        with pytest.raises(ValueError, match="needs the observables"):
            contacts.update(model.state())
        with pytest.raises(RuntimeError, match="expected 'proxy'"), contacts.coupled(model.state(), 0.01):
            pass
    plane = block(lambda builder: builder.add_shape_plane(body=builder.add_body(label="plane")))
    with pytest.raises(ValueError, match="a shape is a PLANE"):
        SoftContacts(scene, plane, "plane")
    worlds = newton.ModelBuilder()
    worlds.replicate(builder_of(ball), 2)
    worlds.color()
    with pytest.raises(ValueError, match="expected those of one"):
        SoftContacts(scene, worlds.finalize(device="cpu"), "*ball")
    with pytest.raises(RuntimeError, match="before the first update"):
        with SoftContacts(scene, model, "ball") as contacts, contacts.coupled(model.state(), 0.01):
            pass
    # What was refused added nothing, and what was closed is gone.
    assert not scene.describe().tissues and not scene.describe().tools
    sheet = model.tri_indices.numpy().reshape(-1, 3)
    with pytest.raises(ValueError, match="surface needs tetrahedra"):
        SoftContacts(scene, model, "ball", elements=sheet, surface=finer(model, 0))
    empty = newton.ModelBuilder()
    ball(empty)
    with pytest.raises(ValueError, match="neither tetrahedra nor triangles"):
        SoftContacts(scene, empty.finalize(device="cpu"), "ball")
