"""Driven tissues: a solver's nodes or frames carry the vertices, and bear their loads."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from support import block, octahedron

import palpate
from palpate.binding import _SIX


def grid(n: int, size_m: float) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and hexahedra of a cube about the origin."""
    along = np.linspace(-size_m / 2, size_m / 2, n + 1)
    nodes = np.stack(np.meshgrid(along, along, along, indexing="ij"), axis=-1).reshape(-1, 3)
    at = np.arange((n + 1) ** 3).reshape(n + 1, n + 1, n + 1)
    low, high = slice(0, n), slice(1, n + 1)
    corners = [(low, low), (high, low), (high, high), (low, high)]
    hexahedra = [at[x, y, z] for z in (low, high) for x, y in corners]
    return nodes, np.stack(hexahedra, axis=-1).reshape(-1, 8)


def weights_in(cell: np.ndarray, place: np.ndarray) -> np.ndarray:
    """Barycentric weights by one linear system, independent of the client's."""
    of_cell: np.ndarray = np.linalg.solve(np.vstack([cell.T, np.ones(4)]), np.append(place, 1.0))
    return of_cell


def product(binding: palpate.Binding, nodes: np.ndarray) -> np.ndarray:
    """The contract's sum: in double precision, in the order of the weights, rounded once."""
    total = np.zeros((len(np.asarray(binding.ids)), 3))
    for ids, weights in zip(np.asarray(binding.ids).T, np.asarray(binding.weights).T, strict=True):
        total += weights[:, None] * np.float64(np.float32(nodes))[ids]
    return total.astype(np.float32)


def driven(scene: palpate.Scene) -> tuple[palpate.Tissue, palpate.Binding, np.ndarray]:
    """A fine block in a coarse grid, bound to it."""
    positions, triangles = block((0.08, 0.08, 0.08), (12, 12, 12))
    # The top of a block is at 0.
    surface = (positions + [0.0, 0.0, 0.04], triangles)
    nodes, cells = grid(4, 0.1)
    binding = palpate.bind(surface, nodes, cells)
    assert len(np.asarray(binding.outside)) == 0
    return scene.add_tissue("organ", surface, binding=binding), binding, nodes


def test_each_vertex_is_bound_to_the_cell_in_which_it_lies() -> None:
    random = np.random.default_rng(46)
    nodes, hexahedra = grid(5, 0.1)
    nodes = nodes + random.normal(0, 0.001, nodes.shape)
    tetrahedra = hexahedra[:, _SIX].reshape(-1, 4)
    places = random.uniform(-0.055, 0.055, (3000, 3))
    binding = palpate.bind((places, [[0, 1, 2]]), nodes, tetrahedra)
    assert np.abs(product_of_doubles(binding, nodes) - places).max() < 1e-15
    outside = np.asarray(binding.outside)
    assert 100 < len(outside) < 1500
    cells = nodes[tetrahedra]
    for v in random.choice(len(places), 300, replace=False):
        least = [weights_in(cell, places[v]).min() for cell in cells]
        assert (max(least) < -1e-9) == (v in outside)
        ids, weights = np.asarray(binding.ids)[v], np.asarray(binding.weights)[v]
        assert np.allclose(weights_in(nodes[ids], places[v]), weights, atol=1e-8)
        assert v in outside or weights.min() >= 0


def product_of_doubles(binding: palpate.Binding, nodes: np.ndarray) -> np.ndarray:
    at: np.ndarray = (np.asarray(binding.weights)[..., None] * nodes[np.asarray(binding.ids)]).sum(axis=1)
    return at


def test_a_driven_tissue_is_where_its_nodes_carry_it(scene: palpate.Scene) -> None:
    tissue, binding, nodes = driven(scene)
    assert tissue.binding_error_m < 1e-8
    [told] = scene.describe().tissues
    assert told.controls == len(nodes)
    random = np.random.default_rng(4)
    for _ in range(10):
        moved = nodes + random.normal(0, 0.002, nodes.shape)
        tissue.deform(controls=moved)
        assert (tissue.export().positions_m == product(binding, moved)).all()
        few = random.choice(len(nodes), 5, replace=False)
        moved[few] += 0.001
        tissue.deform(controls=moved[few], control_ids=few)
        assert (tissue.export().positions_m == product(binding, moved)).all()
    with pytest.raises(palpate.InvalidArgument, match="driven"):
        tissue.deform(tissue.export().positions_m)
    with pytest.raises(palpate.InvalidArgument, match="expected 125"):
        tissue.deform(controls=nodes[1:])
    with pytest.raises(ValueError, match="one of them"):
        tissue.deform(nodes, controls=nodes)


def test_the_server_binds_to_cells_as_bind_does(scene: palpate.Scene) -> None:
    random = np.random.default_rng(7)
    nodes, hexahedra = grid(5, 0.1)
    nodes = np.float64(np.float32(nodes + random.normal(0, 0.001, nodes.shape)))
    positions, triangles = octahedron(0.045)
    positions = np.float32(positions)
    for cells in (hexahedra, hexahedra[:, _SIX].reshape(-1, 4)):
        binding = palpate.bind((positions, triangles), nodes, cells)
        tissue = scene.add_tissue(f"of {len(cells)}", (positions, triangles), volume=(nodes, cells))
        assert (tissue.vertices_outside, tissue.outside_max_m, tissue.weight_min) == (0, 0.0, 0.0)
        moved = nodes + random.normal(0, 0.002, nodes.shape)
        tissue.deform(controls=moved)
        assert np.allclose(tissue.export().positions_m, product(binding, moved), atol=2e-8)
    bounded = scene.add_tissue("boundary", volume=(nodes, hexahedra))
    assert bounded.report.triangles == 2 * 6 * 5 * 5
    assert (bounded.export().positions_m == np.float32(nodes)).all()
    wide = scene.add_tissue("wide", octahedron(0.06), volume=(nodes, hexahedra))
    assert wide.vertices_outside == 6 and 0.005 < wide.outside_max_m < 0.02 and wide.weight_min < 0
    for given in ({}, {"binding": binding}, {"volume": (nodes, cells), "binding": binding}):
        with pytest.raises(ValueError, match="expected mesh or volume, and binding or volume"):
            scene.add_tissue("wrong", **given)
    with pytest.raises(ValueError, match="no cell"):
        scene.add_tissue("wrong", volume=(nodes, np.empty((0, 4), int)))
    with pytest.raises(palpate.InvalidArgument, match="binding.tetrahedra"):
        scene.add_tissue("wrong", volume=(nodes, [[0, 1, 2, 999]]))


def test_nodes_bear_what_the_hand_presses_with(scene: palpate.Scene) -> None:
    tissue, _, nodes = driven(scene)
    probe = scene.add_tool("probe", octahedron(0.005))
    at = np.array([0.0113, 0.0057])
    with scene.track([probe], render=[palpate.Render(probe, friction=0.3, tissue_loads=True)]) as loop:
        for z in np.linspace(0.06, 0.042, 200):
            rendering = loop.tick([*at, z]).renderings[0]
        for _ in range(20):
            rendering = loop.tick([*at, 0.042]).renderings[0]
    [load] = rendering.tissue_loads
    contacts, places = np.float64(rendering.contact_force_xyz_n), np.float64(rendering.contact_xyz_m)
    assert np.linalg.norm(contacts.sum(axis=0)) > 0.5
    forces = load.control_force_xyz_n
    assert forces.shape == (len(load.control_ids), 3) and load.control_torque_xyz_nm.shape == (0, 3)
    assert np.allclose(forces.sum(axis=0), -contacts.sum(axis=0), atol=1e-6)
    moment = np.cross(np.float64(np.float32(nodes))[load.control_ids], forces).sum(axis=0)
    assert np.allclose(moment, -np.cross(places, contacts).sum(axis=0), atol=1e-7)
    assert tissue.id == load.tissue_id


def test_a_bone_moves_by_one_pose(scene: palpate.Scene) -> None:
    positions, triangles = octahedron(0.05)
    pose = [0.01, 0.0, 0.02, 0.0, 0.0, 0.0, 1.0]
    bone = scene.add_tissue("bone", (positions, triangles), binding=palpate.Binding.rigid(pose, len(positions)))
    assert (bone.export().positions_m == np.float32(positions)).all()
    half = np.sqrt(0.5)
    bone.deform(controls=[[0.11, 0.0, 0.02, 0.0, 0.0, half, half]])
    x, y, z = (np.asarray(positions) - pose[:3]).T
    expected = np.stack([-y, x, z], axis=1) + [0.11, 0.0, 0.02]
    assert np.allclose(bone.export().positions_m, expected, atol=1e-8)
    with pytest.raises(palpate.InvalidArgument, match=r"controls.state\[0\]"):
        bone.deform(controls=[[0.0] * 7])


def test_new_vertices_of_a_cut_are_carried(scene: palpate.Scene) -> None:
    tissue, _, nodes = driven(scene)
    before = tissue.export()
    a, b, c = before.triangles[7]
    n = len(before.positions_m)
    place = before.positions_m[[a, b, c]].mean(axis=0)
    split = [[a, b, n], [b, c, n], [c, a, n]]
    triangle = before.triangle_ids[7]
    made = tissue.edit_topology([triangle], [place], split, parents=[triangle] * 3)
    assert np.allclose(made.added_positions_m, [place], atol=1e-8)
    tissue.deform(controls=nodes + [0.0, 0.0, 0.01])
    moved = tissue.export().positions_m
    assert np.allclose(moved[n], moved[[a, b, c]].mean(axis=0), atol=1e-8)
    again = tissue.edit_topology(
        [], [[0, 0, 0]], [[a, b, n + 1]], added_controls=[[3, 4]], added_weights=[[0.25, 0.75]]
    )
    carried = 0.25 * nodes[3] + 0.75 * nodes[4] + [0.0, 0.0, 0.01]
    assert np.allclose(again.added_positions_m, [carried], atol=1e-8)


def test_arrays_that_do_not_fit_are_named(scene: palpate.Scene) -> None:
    surface = octahedron(0.05)
    nodes, cells = grid(2, 0.1)
    with pytest.raises(ValueError, match="node 99"):
        palpate.bind(surface, nodes, [[0, 1, 2, 99]])
    with pytest.raises(ValueError, match="volume"):
        palpate.bind(surface, nodes, [[0, 1, 2, 2]])
    with pytest.raises(ValueError, match=r"binding.ids and binding.weights"):
        scene.add_tissue("t", surface, binding=palpate.Binding(nodes, [[0]] * 6, [[0.5, 0.5]] * 6))
    with pytest.raises(palpate.InvalidArgument, match="vertex 2 sum to 0.9"):
        scene.add_tissue(
            "t", surface, binding=palpate.Binding(nodes, [[0]] * 6, [[1.0], [1.0], [0.9], [1.0], [1.0], [1.0]])
        )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not scene.tissues()
    assert cells.shape == (8, 8)


def test_a_tube_follows_its_line_and_loads_it(scene: palpate.Scene) -> None:
    along = np.linspace(0, 1, 41)
    straight = np.stack([0.1 * along - 0.05, 0 * along, 0 * along], axis=1)
    tube = palpate.Tube(straight, 0.002)
    tissue = scene.add_tissue("catheter", tube.mesh, binding=tube.binding)
    report = tissue.report
    assert report.closed and report.bodies == 1 and report.reversed_triangles == 0
    assert tissue.binding_error_m < 1e-9
    # A cylinder of twelve sides with two half balls: between those in and around the circle.
    ideal = np.pi * 0.002**2 * 0.1 + 4 / 3 * np.pi * 0.002**3
    assert 0.93 * ideal < report.volume_m3 < ideal
    # A quarter of a circle of the same length: each vertex of a ring stays at the radius from its point.
    angle = np.pi / 2 * along
    bent = 0.2 / np.pi * np.stack([np.sin(angle), 0 * angle, 1 - np.cos(angle)], axis=1)
    for points in (bent, bent[:, [2, 0, 1]], straight):
        tissue.deform(controls=tube.frames(points))
        at = tissue.export().positions_m
        ids = np.asarray(tube.binding.ids)[:, 0]
        away = at - points[ids]
        assert np.allclose(np.linalg.norm(away, axis=1), 0.002, atol=1e-8)
        nearest = np.linalg.norm(at[:, None] - points[None], axis=2).min(axis=1)
        assert nearest.max() < 0.002 + 1e-6
    probe = scene.add_tool("probe", octahedron(0.005))
    with scene.track([probe], render=[palpate.Render(probe, tissue_loads=True)]) as loop:
        for z in np.linspace(0.01, 0.005, 200):
            rendering = loop.tick([0.0013, 0.0, z]).renderings[0]
        for _ in range(20):
            rendering = loop.tick([0.0013, 0.0, 0.005]).renderings[0]
    [load] = rendering.tissue_loads
    forces = tube.loads_n(load)
    contacts = np.float64(rendering.contact_force_xyz_n).sum(axis=0)
    assert contacts[2] > 0.3 and np.allclose(forces.sum(axis=0), -contacts, atol=1e-6)
    # Only points about the probe bear it.
    assert np.abs(straight[np.abs(forces).sum(axis=1) > 0, 0]).max() < 0.01


@pytest.mark.parametrize(
    ("points", "radius_m", "sides", "words"),
    [
        ([[0, 0, 0]], 0.001, 8, "1 points"),
        ([[0, 0, 0], [1, 0, 0]], 0.0, 8, "radius_m is 0.0"),
        ([[0, 0, 0], [1, 0, 0]], 0.1, 2, "sides is 2"),
        ([[0, 0, 0], [1, 0, 0], [1, 0, 0]], 0.1, 8, r"points_m\[1\] and points_m\[2\]"),
    ],
)
def test_what_is_no_line_is_named(points: list[list[int]], radius_m: float, sides: int, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        palpate.Tube(points, radius_m, sides)


def test_frames_of_a_tube_are_rotations_however_the_line_turns() -> None:
    random = np.random.default_rng(9)
    line = np.cumsum(random.normal(0, 0.01, (60, 3)), axis=0)
    back = np.array([[0, 0, 0], [0.01, 0, 0], [0, 0, 0], [0, 0.01, 0], [0, 0.01, -0.01]])
    for points in (line, back, back[::-1]):
        tube = palpate.Tube(line[: len(points)], 0.001)
        quaternions = tube.frames(points)[:, 3:]
        assert np.allclose(np.linalg.norm(quaternions, axis=1), 1.0)
        x, y, z, w = quaternions.T
        tangents = np.stack([2 * (x * z + y * w), 2 * (y * z - x * w), 1 - 2 * (x * x + y * y)], axis=1)
        steps = np.diff(points, axis=0)
        assert np.allclose(tangents[0], steps[0] / np.linalg.norm(steps[0]), atol=1e-9)
        assert np.allclose(tangents[-1], steps[-1] / np.linalg.norm(steps[-1]), atol=1e-9)


def test_a_tool_meets_a_link_of_another(scene: palpate.Scene) -> None:
    plate = block((0.08, 0.08, 0.01), (4, 4, 1))
    blade = palpate.Link("blade", plate)
    handle = palpate.Link("handle", octahedron(0.005))
    probe, other = scene.add_tool("probe", octahedron(0.005)), scene.add_tool("other", [handle, blade])
    body = scene.add_instrument("other hand", other, link=1, pose=(0, 0, -0.01))
    [told] = scene.describe().tissues
    assert told.kind == palpate.TissueKind.INSTRUMENT and (told.tool_id, told.link) == (other.id, 1)
    assert body.report.triangles == len(plate[1])
    body.deform(controls=[[0, 0, 0, 0, 0, 0, 1]])
    with scene.track([probe], render=[palpate.Render(probe, tissue_loads=True)]) as loop:
        for z in [*np.linspace(0.008, 0.003, 100), *[0.003] * 20]:
            rendering = loop.tick([0.01, 0.0, z]).renderings[0]
    [load] = rendering.tissue_loads
    assert load.control_force_xyz_n[0] == pytest.approx(-rendering.force_n, abs=1e-6)
    assert rendering.force_n[2] == pytest.approx(1.0, abs=0.02)
    with scene.track([other]) as loop:
        assert not loop.tick([0, 0, 0]).tissues
