"""Volume meshes and surfaces in files that VTK, meshio, Gmsh and trimesh write, read by a server."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from support import ServerProgram

import palpate

# Of VTK's cell types: the corners of the faces of a cell, in any order.
FACES = {
    10: ((0, 1, 2), (0, 1, 3), (1, 2, 3), (0, 2, 3)),
    12: ((0, 1, 2, 3), (4, 5, 6, 7), (0, 1, 4, 5), (1, 2, 5, 6), (2, 3, 6, 7), (0, 3, 4, 7)),
    13: ((0, 1, 2), (3, 4, 5), (0, 1, 3, 4), (1, 2, 4, 5), (0, 2, 3, 5)),
    14: ((0, 1, 2, 3), (0, 1, 4), (1, 2, 4), (2, 3, 4), (0, 3, 4)),
}
MESHIO_NAMES = {10: "tetra", 12: "hexahedron", 13: "wedge", 14: "pyramid"}


def blocks(kind: int) -> tuple[npt.NDArray[np.float64], list[list[int]]]:
    """Points and cells of a block of 3 x 4 x 5 bent cubes with holes, each cube as cells of a VTK type."""
    random = np.random.default_rng(kind)
    shape = np.array([3, 4, 5])
    points = np.stack(np.meshgrid(*map(np.arange, shape + 1), indexing="ij"), -1).reshape(-1, 3).astype(float)
    points += random.uniform(-0.1, 0.1, points.shape)
    number = np.arange(len(points)).reshape(shape + 1)
    cells: list[list[int]] = []
    for x, y, z in itertools.product(*map(range, shape)):
        if random.random() < 0.2:
            continue
        ring = [(0, 0), (1, 0), (1, 1), (0, 1)]
        cube = [int(number[x + i, y + j, z + k]) for k in (0, 1) for i, j in ring]
        if kind == 12:
            cells.append(cube)
        elif kind == 13:
            cells += [[cube[i] for i in half] for half in ((0, 1, 2, 4, 5, 6), (0, 2, 3, 4, 6, 7))]
        elif kind == 10:
            # Six tetrahedra about a diagonal; their orders are those of both orientations.
            for a, b in ((1, 2), (2, 3), (3, 7), (7, 4), (4, 5), (5, 1)):
                cells.append([cube[i] for i in ((0, 6, a, b) if len(cells) % 3 else (6, 0, a, b))])
        else:
            centre = len(points)
            points = np.vstack([points, points[cube].mean(0)])
            sides = ((0, 1, 2, 3), (4, 7, 6, 5), (0, 4, 5, 1), (1, 5, 6, 2), (2, 6, 7, 3), (3, 7, 4, 0))
            cells += [[cube[i] for i in side] + [centre] for side in sides]
    return points, cells


def boundary(kind: int, cells: list[list[int]]) -> list[frozenset[int]]:
    """Faces of exactly one cell."""
    count: dict[frozenset[int], int] = {}
    for cell, face in itertools.product(cells, FACES[kind]):
        corners = frozenset(cell[i] for i in face)
        count[corners] = count.get(corners, 0) + 1
    return [face for face, n in count.items() if n == 1]


def files(kind: int, folder: Path) -> Iterator[Path]:
    """The block in every file that a package here can write."""
    points, cells = blocks(kind)
    meshio: Any = pytest.importorskip("meshio", reason="meshio is not installed")
    mesh = meshio.Mesh(points, [(MESHIO_NAMES[kind], np.array(cells))])
    for name, file_format, settings in (
        ("old.msh", "gmsh22", {"binary": True}),
        ("old_ascii.msh", "gmsh22", {"binary": False}),
        ("new.msh", "gmsh", {"binary": True}),
        ("new_ascii.msh", "gmsh", {"binary": False}),
        ("legacy.vtk", "vtk", {"binary": True}),
        ("legacy_ascii.vtk", "vtk42", {"binary": False}),
        ("meshio.vtu", "vtu", {"binary": True}),
        ("meshio_plain.vtu", "vtu", {"binary": True, "compression": None}),
        ("meshio_ascii.vtu", "vtu", {"binary": False}),
    ):
        mesh.write(folder / name, file_format=file_format, **settings)
        yield folder / name
    try:
        vtk: Any = importlib.import_module("vtkmodules.all")
        numpy_support: Any = importlib.import_module("vtkmodules.util.numpy_support")
    except ImportError:
        return
    grid = vtk.vtkUnstructuredGrid()
    corners = vtk.vtkPoints()
    corners.SetData(numpy_support.numpy_to_vtk(points, deep=True))
    grid.SetPoints(corners)
    array = vtk.vtkCellArray()
    ids = np.array(cells, np.int64).ravel()
    array.SetData(len(cells[0]), numpy_support.numpy_to_vtkIdTypeArray(ids, deep=True))
    grid.SetCells(kind, array)
    for mode, is_compressed, is_encoded, is_big in itertools.product(
        ("Ascii", "Binary", "Appended"), (False, True), (False, True), (False, True)
    ):
        writer = vtk.vtkXMLUnstructuredGridWriter()
        file = folder / f"{mode}_{is_compressed}_{is_encoded}_{is_big}.vtu"
        writer.SetFileName(str(file))
        writer.SetInputData(grid)
        getattr(writer, f"SetDataModeTo{mode}")()
        writer.SetEncodeAppendedData(is_encoded)
        (writer.SetCompressorTypeToZLib if is_compressed else writer.SetCompressorTypeToNone)()
        (writer.SetHeaderTypeToUInt64 if is_encoded else writer.SetHeaderTypeToUInt32)()
        (writer.SetByteOrderToBigEndian if is_big else writer.SetByteOrderToLittleEndian)()
        writer.SetBlockSize(1024)
        writer.Write()
        yield file
    for version, is_binary in itertools.product((42, 51), (False, True)):
        legacy = vtk.vtkUnstructuredGridWriter()
        file = folder / f"{version}_{is_binary}.vtk"
        legacy.SetFileName(str(file))
        legacy.SetInputData(grid)
        legacy.SetFileVersion(version)
        (legacy.SetFileTypeToBinary if is_binary else legacy.SetFileTypeToASCII)()
        legacy.Write()
        yield file


@pytest.mark.parametrize("kind", FACES)
def test_the_surface_of_a_volume_mesh_is_its_boundary(program: ServerProgram, tmp_path: Path, kind: int) -> None:
    points, cells = blocks(kind)
    faces = boundary(kind, cells)
    n_triangles = sum(len(face) - 2 for face in faces)
    read = []
    with palpate.connect(program.address) as server, server.create_scene(f"files-{kind}") as scene:
        for file in files(kind, tmp_path):
            tissue = scene.add_tissue(file.name, file, scale_to_m=0.01)
            surface = tissue.export()
            # Vertices are the file's points in its order; VTK's texts have six digits.
            assert surface.positions_m == pytest.approx(0.01 * points, abs=1e-6), file.name
            triangles = surface.triangles.tolist()
            assert len(triangles) == n_triangles, file.name
            found = {face for face in faces for t in triangles if face.issuperset(t)}
            assert found == set(faces), file.name
            assert (tissue.report.open_edges, tissue.report.reversed_triangles) == (0, 0), file.name
            # The sum of the cells, up to how bent faces are cut.
            corners = points[triangles]
            volume = np.einsum("ij,ij->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6
            assert tissue.report.volume_m3 == pytest.approx(1e-6 * volume, rel=1e-4)
            assert volume > 0.7 * 0.8 * 60, file.name
            read.append(file.name)
        # A solver moves the nodes of its mesh, inner ones too.
        moved = 0.01 * points * (1.0, 1.0, 0.5)
        tissue.deform(moved)
        assert tissue.export().positions_m == pytest.approx(moved, abs=1e-8)
    print(f"{len(read)} files of VTK's type {kind}, {len(faces)} faces")


def test_arrays_and_objects_of_volume_meshes_are_tissues(program: ServerProgram) -> None:
    with palpate.connect(program.address) as server, server.create_scene("volumes") as scene:
        for kind in FACES:
            points, cells = blocks(kind)
            # As objects of meshio, with a marked part of the boundary, and of pyvista are.
            part = {"line": [[0, 1]], "triangle": [cells[0][:3]]}
            meshes: list[Any] = [
                SimpleNamespace(points=points, cells_dict=part | {MESHIO_NAMES[kind]: np.array(cells)}),
                SimpleNamespace(points=points, cells_dict={np.uint8(kind): np.array(cells)}),
            ]
            if kind in (10, 12):
                meshes.append((points, cells))
            for mesh in meshes:
                tissue = scene.add_tissue("organ", mesh, scale_to_m=0.01)
                assert tissue.report.open_edges == 0 and len(tissue.export().positions_m) == len(points)
                assert tissue.report.triangles == sum(len(face) - 2 for face in boundary(kind, cells))
                tissue.remove()
        # Faces alone are a surface, also if some have four corners.
        cube = np.array(list(itertools.product((0, 1), repeat=3)), float)
        squares = np.array([[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4]])
        faces = {"quad": squares, "triangle": np.array([[1, 5, 7], [1, 7, 3]])}
        surface: Any = SimpleNamespace(points=cube, cells_dict=faces)
        report = scene.add_tissue("cube", surface, scale_to_m=0.1).report
        assert (report.triangles, report.closed) == (12, True) and report.volume_m3 == pytest.approx(1e-3)


def test_elements_of_second_order_are_refused_by_name(program: ServerProgram, tmp_path: Path) -> None:
    meshio: Any = pytest.importorskip("meshio", reason="meshio is not installed")
    points = np.random.default_rng(1).normal(size=(10, 3))
    mesh = meshio.Mesh(points, [("tetra10", np.arange(10).reshape(1, 10))])
    with palpate.connect(program.address) as server, server.create_scene("second-order") as scene:
        for name, file_format, said in (
            ("a.msh", "gmsh", r"an element of second order \(type 11\)"),
            ("a.vtk", "vtk", r"cell 0: expected .*, got a quadratic cell \(VTK type 24\)"),
            ("a.vtu", "vtu", r"a quadratic cell"),
        ):
            mesh.write(tmp_path / name, file_format=file_format)
            with pytest.raises(palpate.InvalidArgument, match=said):
                scene.add_tissue("organ", tmp_path / name)


def test_gmsh_writes_what_is_read(program: ServerProgram, tmp_path: Path) -> None:
    try:
        gmsh: Any = importlib.import_module("gmsh")
    except (ImportError, OSError) as error:
        pytest.skip(f"gmsh cannot be used: {error}")
    gmsh.initialize(interruptible=False)
    try:
        gmsh.option.setNumber("General.Terminal", 0)
        gmsh.model.occ.addSphere(0, 0, 0, 0.05)
        gmsh.model.occ.addBox(0.2, 0, 0, 0.1, 0.1, 0.1)
        gmsh.model.occ.synchronize()
        gmsh.option.setNumber("Mesh.MeshSizeMax", 0.02)
        gmsh.model.mesh.generate(3)
        gmsh.option.setNumber("Mesh.SaveAll", 1)
        with palpate.connect(program.address) as server, server.create_scene("gmsh") as scene:
            reports = []
            for version, is_binary, parametric in itertools.product((2.2, 4.1), (0, 1), (0, 1)):
                gmsh.option.setNumber("Mesh.MshFileVersion", version)
                gmsh.option.setNumber("Mesh.Binary", is_binary)
                gmsh.option.setNumber("Mesh.SaveParametric", parametric if version > 4 else 0)
                file = tmp_path / f"{version}_{is_binary}_{parametric}.msh"
                gmsh.write(str(file))
                report = scene.add_tissue(file.name, file).report
                reports.append((report.vertices, report.triangles, report.bodies, report.closed))
                # A ball of facets, and a box of 1e-3 m3.
                ball = 4 / 3 * np.pi * 0.05**3
                assert 1e-3 + 0.85 * ball < report.volume_m3 < 1e-3 + ball
            assert len(set(reports)) == 1 and reports[0][2:] == (2, True), reports
    finally:
        gmsh.finalize()


def test_a_scene_of_gltf_is_where_its_nodes_put_it(program: ServerProgram, tmp_path: Path) -> None:
    trimesh: Any = pytest.importorskip("trimesh", reason="trimesh is not installed")
    ball = trimesh.creation.icosphere(subdivisions=2, radius=0.05)
    box = trimesh.creation.box((0.1, 0.2, 0.3))
    turned = trimesh.transformations.compose_matrix(angles=(0.3, 0.5, 0.7), translate=(0.1, 0.2, 0.3))
    mirrored = np.diag([-2.0, 1.0, 1.0, 1.0])
    drawing = trimesh.Scene()
    drawing.add_geometry(ball, node_name="ball", transform=turned)
    drawing.add_geometry(box, node_name="box", parent_node_name="ball", transform=mirrored)
    drawing.export(tmp_path / "scene.glb")
    with palpate.connect(program.address) as server, server.create_scene("gltf") as scene:
        tissue = scene.add_tissue("organ", tmp_path / "scene.glb")
        assert tissue.report.closed and tissue.report.bodies == 2 and tissue.report.reversed_triangles == 0
        assert tissue.report.volume_m3 == pytest.approx(ball.volume + 2 * box.volume, rel=1e-5)
        expected = [ball.copy().apply_transform(turned), box.copy().apply_transform(turned @ mirrored)]
        corners = np.vstack([mesh.vertices for mesh in expected])
        found = tissue.export().positions_m
        assert np.sort(found, axis=0) == pytest.approx(np.sort(corners, axis=0), abs=1e-6)
