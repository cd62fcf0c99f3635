"""Forces: what a hand feels, and what tissue bears."""

from __future__ import annotations

import numpy as np
import pytest
from support import block, octahedron

import palpate


def test_a_pressed_probe_stays_outside_and_tissue_bears_what_the_hand_feels(scene: palpate.Scene) -> None:
    scene.add_tissue("slab", block((0.1, 0.1, 0.04), (20, 20, 8)))
    probe = scene.add_tool("probe", octahedron(0.005))
    render = palpate.Render(probe, stiffness_n_per_m=400, friction=0.3, tissue_loads=True)
    with scene.track([probe], render=[render]) as loop:
        # Off the grid's lines, so that the probe meets no edge.
        at = np.array([0.0013, 0.0007])
        for z in np.linspace(0.02, 0.0, 200):
            rendering = loop.tick([*at, z]).renderings[0]
            assert rendering.proxy.position_m[2] >= 0.005 - 1e-5
        # The tip is 5 mm below the origin, so the spring is stretched by 5 mm: 2 N.
        for _ in range(20):
            rendering = loop.tick([*at, 0.0]).renderings[0]
        assert rendering.state == palpate.RenderState.TOUCHING
        assert rendering.force_n.tolist() == pytest.approx([0, 0, 2.0], abs=0.01)
        assert not rendering.limited
        contacts = rendering.contact_force_xyz_n
        assert contacts.shape == (len(rendering.contact_ids), 3)
        load = rendering.tissue_loads[0]
        assert load.force_xyz_n.shape == (len(load.vertex_ids), 3)
        assert np.allclose(load.force_xyz_n.sum(axis=0), -contacts.sum(axis=0), atol=1e-5)
        # During a drag to the side, the force acts against the motion.
        for x in np.linspace(0, 0.01, 100):
            rendering = loop.tick([at[0] + x, at[1], 0.0]).renderings[0]
        assert rendering.force_n[0] < -0.1
        for z in np.linspace(0.0, 0.02, 200):
            rendering = loop.tick([*at, z]).renderings[0]
        assert rendering.state == palpate.RenderState.FREE and not rendering.tissue_loads
        assert rendering.force_n.tolist() == [0, 0, 0]


def test_a_material_is_a_spring_in_series_and_goes_again(scene: palpate.Scene) -> None:
    vertices, triangles = block((0.1, 0.1, 0.04), (20, 20, 8))
    slab = scene.add_tissue("slab", (vertices, triangles))
    probe = scene.add_tool("probe", octahedron(0.005))

    def pressed(loop: palpate.HapticLoop, x: float) -> float:
        for z in np.linspace(0.01, 0.0, 100):
            rendering = loop.tick([x, 0.0007, z]).renderings[0]
        return float(rendering.contact_force_xyz_n[:, 2].sum())

    soft, hard = palpate.Material(stiffness_n_per_m=100), palpate.Material(1000, friction=0.5, friction_dynamic=0.2)
    right = np.asarray(vertices)[np.asarray(triangles)].mean(axis=1)[:, 0] > 0
    answer = slab.set_feel([soft, hard], right.astype(np.uint8))
    assert answer.geometry_revision == 1
    with scene.track([probe], render=[palpate.Render(probe, stiffness_n_per_m=400)]) as loop:
        assert pressed(loop, -0.0237) == pytest.approx(0.005 / (1 / 400 + 1 / 100), rel=0.01)
        assert pressed(loop, 0.0237) == pytest.approx(0.005 / (1 / 400 + 1 / 1000), rel=0.01)
        slab.set_feel([])
        assert pressed(loop, -0.0237) == pytest.approx(2.0, rel=0.01)
    with pytest.raises(palpate.InvalidArgument, match=r"feel.materials\[0\].stiffness_n_per_m is 0.5"):
        slab.set_feel(palpate.Material(0.5))
    for material, problem in [
        (palpate.Material(0), "stiffness_n_per_m is 0"),
        (palpate.Material(friction_dynamic=0.1), "friction has none"),
    ]:
        with pytest.raises(ValueError, match=problem):
            slab.set_feel(material)
    with pytest.raises(ValueError, match="goes up to 256"):
        slab.set_feel(soft, [256])


def test_a_forbidden_region_holds_out_and_bears_nothing(scene: palpate.Scene) -> None:
    scene.add_tissue("nerve", block((0.1, 0.1, 0.04), (10, 10, 4)), forbidden_region=True)
    probe = scene.add_tool("probe", octahedron(0.005))
    with scene.track([probe], render=[palpate.Render(probe, tissue_loads=True)]) as loop:
        for z in np.linspace(0.01, 0.003, 100):
            rendering = loop.tick([0.0013, 0.0007, z]).renderings[0]
        assert rendering.contact_forbidden.all() and rendering.force_n[2] > 0.5
        assert not rendering.tissue_loads


def test_force_shading_hides_the_facets_of_a_coarse_ball(scene: palpate.Scene) -> None:
    rings, radius = 24, 0.05
    polar, azimuth = np.meshgrid(
        np.linspace(0, np.pi, rings + 1), np.linspace(0, 2 * np.pi, 2 * rings, endpoint=False), indexing="ij"
    )
    vertices = radius * np.stack(
        [np.sin(polar) * np.cos(azimuth), np.sin(polar) * np.sin(azimuth), np.cos(polar)], axis=-1
    )
    here = np.arange(rings * 2 * rings).reshape(rings, 2 * rings)
    right, below = np.roll(here, -1, axis=1), here + 2 * rings
    faces = np.concatenate([np.stack([here, below, right], -1), np.stack([right, below, np.roll(below, -1, 1)], -1)])
    scene.add_tissue("ball", (vertices.reshape(-1, 3), faces.reshape(-1, 3)), weld_m=1e-6)
    probe = scene.add_tool("probe", octahedron(0.002))

    def largest_step(shading: float) -> float:
        render = palpate.Render(probe, force_shading_rad=shading, rotational_stiffness_nm_per_rad=100)
        forces = []
        with scene.track([probe], render=[render]) as loop:
            for x in np.linspace(0.06, 0.0495, 150):
                loop.tick([x, 0, 0.001])
            for angle in np.linspace(0, 0.6, 600):
                tick = loop.tick([0.0495 * np.cos(angle), 0.0495 * np.sin(angle), 0.001])
                forces.append(tick.renderings[0].force_n)
        return float(np.linalg.norm(np.diff(forces, axis=0), axis=1)[20:].max())

    assert largest_step(0.0) > 0.1
    assert largest_step(0.5) < 0.04
