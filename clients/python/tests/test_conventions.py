"""What users of NumPy, SciPy, trimesh, pyvista, meshio and open3d expect of meshes and poses."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support import CORNERS, SIDES, octahedron

import palpate
from palpate.mesh import content_of
from palpate.pose import as_pose


def test_a_pose_is_a_matrix_and_composes() -> None:
    random = np.random.default_rng(45)
    for _ in range(100):
        turns = random.normal(size=(2, 4))
        turns /= np.linalg.norm(turns, axis=1, keepdims=True)
        a, b = (palpate.Pose(random.normal(size=3), turn) for turn in turns)
        assert np.allclose(np.asarray(a), a.matrix) and np.asarray(a, np.float32).dtype == np.float32
        assert np.allclose(np.asarray(a @ b), a.matrix @ b.matrix)
        assert np.allclose((a @ b.matrix).matrix, a.matrix @ b.matrix)
        assert np.allclose((a @ a.inverse()).matrix, np.eye(4))
        assert np.allclose((a.inverse() @ a).matrix, np.eye(4))
        points = random.normal(size=(5, 3))
        assert np.allclose(a.inverse() * (a * points), points)
        assert np.allclose(as_pose(np.asarray(a)).matrix, a.matrix)
    with pytest.raises(ValueError, match="without a copy"):
        a.__array__(copy=False)
    # A translation alone is a pose too.
    assert np.allclose((palpate.Pose((1, 2, 3)) @ (1, 0, 0)).position_m, (2, 2, 3))


def test_a_rotation_of_scipy_is_an_orientation() -> None:
    rotation = pytest.importorskip("scipy.spatial.transform").Rotation.from_rotvec([0.3, -0.2, 1.1])
    pose = palpate.Pose((1, 2, 3), rotation)
    assert np.allclose(pose.matrix[:3, :3], rotation.as_matrix())


@pytest.mark.parametrize(
    ("position", "orientation", "said"),
    [
        ((0, 0), (0, 0, 0, 1), r"position_m has the shape \(2,\)"),
        ((0, 0, np.nan), (0, 0, 0, 1), "position_m is .*expected finite"),
        ((0, 0, 0), (0, 0, 1), r"orientation has the shape \(3,\)"),
        ((0, 0, 0), (0, 0, 0, 0), "has the norm 0.0, expected 1"),
        ((0, 0, 0), (1, 2, 3, 4), "has the norm 5.47"),
        ((0, 0, 0), (0, 0, np.inf, 1), "orientation is .*expected finite"),
    ],
)
def test_a_pose_that_is_none_is_refused_where_it_is_made(position: Any, orientation: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        palpate.Pose(position, orientation)


def meshes() -> list[Any]:
    """The octahedron of 5 cm as each package has it."""
    points = 0.05 * CORNERS
    made: list[Any] = [
        (points, SIDES),
        [points.tolist(), SIDES.tolist()],
        palpate.Surface(points.astype(np.float32), np.arange(8, dtype=np.uint32), SIDES.astype(np.uint32)),
        # open3d's vectors are no arrays, and convert to such.
        SimpleNamespace(vertices=points.tolist(), triangles=SIDES.tolist()),
    ]
    surface = made[2]
    of_packages: list[tuple[str, Callable[[Any], Any]]] = [
        ("trimesh", lambda module: module.Trimesh(points, SIDES, process=False)),
        ("trimesh", lambda _: surface.to_trimesh()),
        ("pyvista", lambda module: module.PolyData.from_regular_faces(points, SIDES)),
        ("pyvista", lambda _: surface.to_pyvista()),
        ("meshio", lambda module: module.Mesh(points, [("triangle", SIDES)])),
    ]
    for package, mesh in of_packages:
        try:
            made.append(mesh(importlib.import_module(package)))
        except ImportError:
            print(f"{package} is not installed")
    return made


def test_a_mesh_of_any_package_is_a_tissue_and_a_tool(scene: palpate.Scene) -> None:
    for n, mesh in enumerate(meshes()):
        tissue, tool = scene.add_tissue(f"organ-{n}", mesh), scene.add_tool(f"tool-{n}", mesh)
        for surface in (tissue.export(), tool.export()[0]):
            assert np.array_equal(surface.positions_m, (0.05 * CORNERS).astype(np.float32)), n
            assert np.array_equal(surface.triangles, SIDES), n
        assert tool.report.triangles == tissue.report.triangles == 8
        tissue.remove()
        tool.remove()


def test_what_is_no_mesh_of_triangles_is_refused(scene: palpate.Scene) -> None:
    with pytest.raises(TypeError, match="mesh has dict, expected a file"):
        content_of({})
    with pytest.raises(ValueError, match=r"cells of the types \['tetra10'\], expected triangles"):
        content_of(SimpleNamespace(points=CORNERS, cells_dict={"triangle": SIDES, "tetra10": SIDES}))
    with pytest.raises(ValueError, match=r"cells of type wedge has the shape \(8, 3\)"):
        content_of(SimpleNamespace(points=CORNERS, cells_dict={"wedge": SIDES}))
    quads: Any = SimpleNamespace(vertices=CORNERS, faces=np.zeros((2, 4), np.int64))
    with pytest.raises(ValueError, match=r"triangles has the shape \(2, 4\)"):
        scene.add_tissue("quads", quads)
    three: Any = [CORNERS, SIDES, SIDES]
    with pytest.raises(TypeError, match="expected links"):
        scene.add_tool("three", three)
    jaws = [palpate.Link(name, octahedron(0.005)) for name in ("left", "right")]
    assert len(scene.add_tool("two", jaws).reports) == 2
    with pytest.raises(ValueError, match="has 2 links: each has its own"):
        assert scene.tools()["two"].report


def test_holes_of_a_tissue_are_filled_on_request(scene: palpate.Scene) -> None:
    points, sides = octahedron(0.05)
    assert scene.add_tissue("open", (points, sides[1:])).report.open_edges == 3
    filled = scene.add_tissue("filled", (points, sides[1:]), fill_holes_m=0.2).report
    assert (filled.open_edges, filled.triangles) == (0, 8)


def test_a_scene_is_replaced_and_deleted_by_name(server: palpate.Server) -> None:
    first = server.create_scene("twice")
    first.add_tissue("organ", octahedron(0.05))
    with pytest.raises(palpate.AlreadyExists, match=r"`scene\('twice'\)` opens it.*replace=True"):
        server.create_scene("twice")
    assert server.create_scene("twice", replace=True).tissues() == {}
    server.delete_scene("twice")
    with pytest.raises(palpate.NotFound):
        server.scene("twice")
    with pytest.raises(palpate.NotFound):
        server.delete_scene("twice")
    server.create_scene("twice", replace=True).delete()
