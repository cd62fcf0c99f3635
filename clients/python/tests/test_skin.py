"""Skinned meshes: files of a public writer, against the formula of glTF in double precision."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import octahedron

import palpate

pygltflib = pytest.importorskip("pygltflib", reason="pygltflib is not installed")

# A limb along z of three joints, each with its own place along it; the armature scales by 2.
JOINTS = np.array([0.0, 0.1, 0.2])
SCALE = 2.0


def limb(sides: int = 16, rings: int = 25) -> tuple[np.ndarray, np.ndarray]:
    """A closed tube whose first column of vertices is repeated along a seam."""
    z = np.linspace(-0.02, 0.28, rings)
    turn = np.linspace(0, 2 * np.pi, sides + 1)
    turn[-1] = 0.0
    at = np.stack(np.broadcast_arrays(0.02 * np.cos(turn), 0.02 * np.sin(turn), z[:, None]), axis=-1)
    positions = np.vstack([at.reshape(-1, 3), [[0, 0, z[0]], [0, 0, z[-1]]]])
    low = np.arange(rings - 1)[:, None] * (sides + 1) + np.arange(sides)
    on = low + sides + 1
    walls = np.stack([low, low + 1, on, low + 1, on + 1, on], axis=-1).reshape(-1, 3)
    first, last = np.arange(sides), (rings - 1) * (sides + 1) + np.arange(sides)
    n = len(positions)
    tip, end = np.full(sides, n - 2), np.full(sides, n - 1)
    caps = [np.stack([tip, first + 1, first], axis=1), np.stack([end, last, last + 1], axis=1)]
    return np.float32(positions).astype(np.float64), np.vstack([walls, *caps])


def weights_of(positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two joints of each vertex, blended about the second and third."""
    along = np.clip((positions[:, 2] - 0.05) / 0.1, 0, 1.999)
    first = along.astype(int)
    share = np.clip(3 * (along - first) - 1, 0, 1)
    ids = np.stack([first, first + 1, 0 * first, 0 * first], axis=1)
    return ids, np.float64(np.float32(np.stack([1 - share, share, 0 * share, 0 * share], axis=1)))


def rotated(axis: int, angle: float) -> np.ndarray:
    matrix = np.eye(4)
    a, b = [k for k in range(3) if k != axis]
    matrix[[a, b], [a, b]] = np.cos(angle)
    matrix[a, b], matrix[b, a] = -np.sin(angle), np.sin(angle)
    return matrix


def shifted(z: float) -> np.ndarray:
    matrix = np.eye(4)
    matrix[2, 3] = z
    return matrix


ARMATURE = rotated(0, 0.3) @ np.diag([SCALE, SCALE, SCALE, 1.0])


def joint_matrices(angles: list[float]) -> np.ndarray:
    """Scene frame from the frame of each joint; each turns about x of the one before."""
    placed = ARMATURE
    found = []
    for before, z, angle in zip([0.0, *JOINTS], JOINTS, angles, strict=False):
        placed = placed @ shifted((z - before) / SCALE) @ rotated(0, angle)
        found.append(placed)
    return np.array(found)


def write(path: Path, **changes: Any) -> tuple[np.ndarray, np.ndarray]:
    """Writes the limb with pygltflib. Returns its positions, and the inverse matrices of its joints at rest."""
    positions, triangles = limb()
    ids, weights = weights_of(positions)
    inverse = np.linalg.inv(joint_matrices([0.0, 0.0, 0.0]))
    inverse = np.float64(np.float32(changes.get("inverse", inverse)))
    arrays: list[tuple[np.ndarray, str, Any]] = [
        (positions, "VEC3", np.float32),
        (triangles.reshape(-1, 1), "SCALAR", np.uint16),
        (ids, "VEC4", changes.get("ids", np.uint8)),
        (weights * changes.get("weight", 1.0), "VEC4", np.float32),
        (inverse.transpose(0, 2, 1).reshape(-1, 16), "MAT4", np.float32),
    ]
    gltf = pygltflib.GLTF2()
    data = b""
    kinds = {np.uint8: 5121, np.uint16: 5123, np.float32: 5126}
    for k, (array, shape, kind) in enumerate(arrays):
        sent = array.astype(kind).tobytes()
        gltf.bufferViews.append(pygltflib.BufferView(buffer=0, byteOffset=len(data), byteLength=len(sent)))
        gltf.accessors.append(pygltflib.Accessor(bufferView=k, componentType=kinds[kind], count=len(array), type=shape))
        data += sent + bytes(-len(sent) % 4)
    attributes = pygltflib.Attributes(POSITION=0, JOINTS_0=2, WEIGHTS_0=3)
    part = pygltflib.Primitive(attributes=attributes, indices=1, mode=changes.get("mode", 4))
    gltf.meshes = [pygltflib.Mesh(primitives=[part])]
    gltf.skins = [pygltflib.Skin(joints=[2, 3, 4], inverseBindMatrices=4)]
    step = float((JOINTS[1] - JOINTS[0]) / SCALE)
    half = [float(np.sin(0.15)), 0.0, 0.0, float(np.cos(0.15))]
    gltf.nodes = [
        pygltflib.Node(name="limb", mesh=0, skin=0),
        pygltflib.Node(name="armature", rotation=half, scale=[SCALE] * 3, children=[2]),
        pygltflib.Node(name="shoulder", children=[3]),
        pygltflib.Node(name="elbow", translation=[0, 0, step], children=[4]),
        pygltflib.Node(name="wrist", translation=[0, 0, step]),
    ]
    if changes.get("two"):
        gltf.nodes.append(pygltflib.Node(name="other", mesh=0, skin=0))
    gltf.scenes = [pygltflib.Scene(nodes=[0, 1])]
    gltf.buffers = [pygltflib.Buffer(byteLength=len(data))]
    gltf.set_binary_blob(data)
    gltf.save_binary(path)
    return positions, inverse


def skinned(positions: np.ndarray, inverse: np.ndarray, matrices: np.ndarray) -> np.ndarray:
    """The formula of glTF 2.0, 3.7.3.3."""
    ids, weights = weights_of(positions)
    motions = matrices @ inverse
    whole = np.hstack([positions, np.ones((len(positions), 1))])
    moved: np.ndarray = np.einsum("vk,vkij,vj->vi", weights, motions[ids], whole)[:, :3]
    return moved


def test_joints_carry_a_skin_as_gltf_says(scene: palpate.Scene, tmp_path: Path) -> None:
    positions, inverse = write(tmp_path / "limb.glb")
    skin = palpate.bind_skin(tmp_path / "limb.glb", scale_to_m=0.5)
    assert skin.joints == ("shoulder", "elbow", "wrist")
    assert np.allclose(skin.posed, joint_matrices([0.0, 0.0, 0.0]), atol=1e-7)
    tissue = scene.add_tissue("limb", skin.mesh, binding=skin.binding)
    report = tissue.report
    assert report.closed and report.bodies == 1 and report.welded_edges > 20
    assert tissue.binding_error_m < 1e-7
    for angles in ([0.0, 0.4, -0.9], [0.2, -1.0, 0.5], [0.0, 0.0, 0.0]):
        matrices = joint_matrices(angles)
        tissue.deform(controls=skin.frames(matrices))
        expected = 0.5 * skinned(positions, inverse, matrices)
        assert np.abs(tissue.export().positions_m - expected).max() < 1e-7


def test_a_bent_limb_bears_a_hand_with_its_joints(scene: palpate.Scene, tmp_path: Path) -> None:
    write(tmp_path / "limb.glb", ids=np.uint16)
    skin = palpate.bind_skin(tmp_path / "limb.glb")
    tissue = scene.add_tissue("limb", skin.mesh, binding=skin.binding)
    tissue.deform(controls=skin.frames(joint_matrices([0.0, 0.8, 0.0])))
    at = tissue.export().positions_m
    # Below the wrist, from the side.
    highest = at[at[:, 1].argmax()]
    probe = scene.add_tool("probe", octahedron(0.004))
    with scene.track([probe], render=[palpate.Render(probe, tissue_loads=True)]) as loop:
        for y in [*np.linspace(0.02, 0.0, 200), *[0.0] * 20]:
            rendering = loop.tick(highest + [0, y, 0]).renderings[0]
    [load] = rendering.tissue_loads
    forces, torques = load.control_force_xyz_n, load.control_torque_xyz_nm
    contacts, places = np.float64(rendering.contact_force_xyz_n), np.float64(rendering.contact_xyz_m)
    origins = skin.frames(joint_matrices([0.0, 0.8, 0.0]))[load.control_ids, :3]
    assert np.linalg.norm(contacts.sum(axis=0)) > 0.5
    assert np.allclose(forces.sum(axis=0), -contacts.sum(axis=0), atol=1e-6)
    moment = (np.cross(origins, forces) + torques).sum(axis=0)
    assert np.allclose(moment, -np.cross(places, contacts).sum(axis=0), atol=1e-7)


def test_what_is_no_skin_is_named(tmp_path: Path) -> None:
    path = tmp_path / "limb.glb"
    write(path, two=True)
    with pytest.raises(ValueError, match=r"\['limb', 'other'\]"):
        palpate.bind_skin(path)
    assert palpate.bind_skin(path, "other").joints[0] == "shoulder"
    write(path, mode=5)
    with pytest.raises(ValueError, match="mode 5"):
        palpate.bind_skin(path)
    write(path, weight=0.0)
    with pytest.raises(ValueError, match="vertex 0 of .*limb.glb has no weight"):
        palpate.bind_skin(path)
    write(path, inverse=np.tile(np.diag([1.0, 2.0, 1.0, 1.0]), (3, 1, 1)))
    with pytest.raises(ValueError, match="joint 'shoulder' turns and scales"):
        palpate.bind_skin(path)
    write(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-400])
    with pytest.raises(ValueError, match=r"accessor 4 of .* the file has"):
        palpate.bind_skin(path)
    path.write_bytes(whole.replace(b'"joints"', b'"joinTs"'))
    with pytest.raises(ValueError, match=r"limb.glb is not whole: it has no 'joints'"):
        palpate.bind_skin(path)
    path.write_bytes(b"ply\n")
    with pytest.raises(ValueError, match="expected binary glTF"):
        palpate.bind_skin(path)
    path.write_bytes(whole)
    skin = palpate.bind_skin(path)
    with pytest.raises(ValueError, match="elbow.* scales by 1.1"):
        skin.frames(skin.posed * np.array([1, 1.1, 1])[:, None, None])
    with pytest.raises(ValueError, match=r"the shape \(2, 4, 4\)"):
        skin.frames(skin.posed[:2])
