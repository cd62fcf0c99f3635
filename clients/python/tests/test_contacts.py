"""Contacts as records and as a matrix, against the surfaces that they are of."""

from __future__ import annotations

import numpy as np
import pytest
from support import octahedron

import palpate

# Above a side of the organ, off its middle, and turned so that a corner is nearest to it.
TURN = np.array((0.2, -0.3, 0.1, 0.9))
AT = palpate.Pose((0.012, 0.008, 0.041), TURN / np.linalg.norm(TURN))


def test_weights_of_contacts_belong_to_the_exported_surfaces(scene: palpate.Scene) -> None:
    organ = scene.add_tissue("organ", octahedron(0.05))
    tool = scene.add_tool("probe", octahedron(0.005))
    report = palpate.Report(contact_margin_m=0.005, link_barycentrics=True)
    contacts = scene.query_contacts(tool, AT, report=report).links[0].contacts
    assert contacts.total >= 1
    sides = (
        (organ.export(), contacts.triangle_ids, contacts.barycentric_xyz, contacts.on_tissue_xyz_m, palpate.Pose()),
        (tool.export()[0], contacts.link_triangle_ids, contacts.link_barycentric_xyz, contacts.on_tool_xyz_m, AT),
    )
    for surface, triangles, weights, points, pose in sides:
        corners = pose * surface.positions_m[surface.triangles[triangles]]
        assert np.allclose(np.einsum("nk,nkx->nx", weights, corners), points, atol=1e-7)
    assert len(scene.query_contacts(tool, AT).links[0].contacts.link_barycentric_xyz) == 0


def test_contacts_are_counted_and_given_one_by_one(scene: palpate.Scene) -> None:
    scene.add_tissue("organ", octahedron(0.05))
    scene.add_tissue("shield", octahedron(0.04), forbidden_region=True)
    tool = scene.add_tool("probe", octahedron(0.005))
    report = palpate.Report(contact_margin_m=0.02, link_barycentrics=True)
    contacts = scene.query_contacts(tool, AT, report=report).links[0].contacts
    assert len(contacts) == contacts.total > 1
    records = contacts.as_structured()
    for n, contact in enumerate(contacts):
        assert contact["contact_id"] == contacts.contact_ids[n]
        assert contact["state"] == contacts.states[n]
        assert contact["tissue_id"] == contacts.tissue_ids[n]
        assert contact["forbidden"] == contacts.forbidden[n] == (contact["tissue_id"] == 2)
        assert contact["toi"] == contacts.toi[n] and not contact["wholly_inside"]
        apart = contact["on_tool_m"] - contact["on_tissue_m"]
        assert np.allclose(apart, contact["signed_distance_m"] * contact["normal"], atol=1e-7)
        assert np.array_equal(contact["link_barycentric"], contacts.link_barycentric_xyz[n])
        assert contact == records[n]
    none = scene.query_contacts(tool, (0, 0, 1)).links[0].contacts
    assert len(none) == 0 and not none and list(none) == [] and len(none.as_structured()) == 0


def test_the_jacobian_is_that_of_finite_differences(scene: palpate.Scene) -> None:
    organ, other = scene.add_tissue("organ", octahedron(0.05)), scene.add_tissue("other", octahedron(0.03))
    tool = scene.add_tool("probe", octahedron(0.005))
    report = palpate.Report(contact_margin_m=0.04)
    rest = octahedron(0.05)[0]

    def asked() -> palpate.answers.LinkAnswer:
        return scene.query_contacts(tool, AT, report=report).links[0]

    contacts, surface = asked().contacts, organ.export()
    data, indices, indptr = contacts.jacobian(organ.id, surface)
    dense = np.zeros((len(contacts), surface.positions_m.size))
    for row in range(len(contacts)):
        np.add.at(dense[row], indices[indptr[row] : indptr[row + 1]], data[indptr[row] : indptr[row + 1]])
    of_other = contacts.tissue_ids == other.id
    assert of_other.any() and not dense[of_other].any()
    # The nearest contact's distance is given in 64 bits as that of the link.
    nearest = int(np.flatnonzero(contacts.tissue_ids == organ.id)[0])
    assert contacts.signed_distance_m[nearest] == pytest.approx(asked().signed_distance_m)
    step_m = 1e-5
    for column in range(surface.positions_m.size):
        distances, moved = [], []
        for sign in (1, -1):
            to = rest.astype(np.float32)
            to.ravel()[column] += sign * step_m
            organ.deform(to)
            distances.append(asked().signed_distance_m)
            moved.append(float(to.ravel()[column]))
        slope = (distances[0] - distances[1]) / (moved[0] - moved[1])
        assert slope == pytest.approx(dense[nearest, column], abs=2e-5), column
    organ.deform(rest)

    scipy_sparse = pytest.importorskip("scipy.sparse")
    matrix = scipy_sparse.csr_array((data, indices, indptr), shape=dense.shape)
    assert np.array_equal(matrix.toarray(), dense)
    # A surface from before a cut has not all triangles.
    cut = int(contacts.triangle_ids[nearest])
    made = organ.edit_topology([cut], [[0.02, 0.02, 0.02]], [[0, 2, 6], [2, 4, 6], [4, 0, 6]], base_topology_revision=0)
    with pytest.raises(ValueError, match="export the tissue again"):
        asked().contacts.jacobian(organ.id, surface)
    assert made.topology_revision == 1
    again = asked().contacts.jacobian(organ.id, organ.export())
    assert len(again[0]) == 9 * int((asked().contacts.tissue_ids == organ.id).sum())


def test_feature_pairs_are_ipctk_s_candidates(scene: palpate.Scene) -> None:
    ipctk = pytest.importorskip("ipctk", reason="ipctk is not installed")
    random = np.random.default_rng(45)
    organ, probe = octahedron(0.05), octahedron(0.02)
    scene.add_tissue("organ", organ)
    tool = scene.add_tool("probe", probe)
    margin = 0.01
    report = palpate.Report(contact_margin_m=margin, feature_pairs=True, max_pairs=1024)
    rest, sides = np.float64(np.float32(organ[0])), np.array(organ[1])
    n = len(rest)
    faces = np.concatenate([sides, np.array(probe[1]) + n])
    edges = ipctk.edges(faces)
    kinds = palpate.FeatureKind
    found = 0
    for _ in range(200):
        turn = random.normal(size=4)
        away = random.normal(size=3)
        pose = palpate.Pose(away / np.linalg.norm(away) * random.uniform(0.03, 0.075), turn / np.linalg.norm(turn))
        places = np.concatenate([rest, pose * np.float64(np.float32(probe[0]))])
        candidates = ipctk.Candidates()
        candidates.build(ipctk.CollisionMesh(places, edges, faces), places, margin)
        expected = {}
        for c in candidates.fv_candidates:
            vertex, face = c.vertex_id, [int(v) for v in faces[c.face_id]]
            distance = np.sqrt(ipctk.point_triangle_distance(places[vertex], *places[face]))
            if (vertex < n) != (face[0] < n) and distance <= margin:
                kind = kinds.VERTEX_FACE if vertex < n else kinds.FACE_VERTEX
                ids = [vertex, *face] if vertex < n else [*face, vertex]
                key = (kind, *(v % n for v in ids))
                expected[key] = distance
        for c in candidates.ee_candidates:
            one, two = sorted(sorted(int(v) for v in edges[e]) for e in (c.edge0_id, c.edge1_id))
            distance = np.sqrt(ipctk.edge_edge_distance(*places[[*one, *two]]))
            if (one[0] < n) != (two[0] < n) and distance <= margin:
                key = (kinds.EDGE_EDGE, *one, *(v - n for v in two))
                expected[key] = distance
        pairs = scene.query_contacts(tool, pose, report=report).links[0].feature_pairs
        assert pairs is not None and pairs.total == len(pairs.kinds)
        rows = zip(pairs.kinds, np.reshape(pairs.vertex_ids, (-1, 4)), pairs.distance_m, strict=True)
        got = {(kind, *(int(v) for v in ids)): distance for kind, ids, distance in rows}
        off = set(got) ^ set(expected)
        assert all(abs({**got, **expected}[pair] - margin) < 1e-6 for pair in off), off
        assert all(abs(got[pair] - expected[pair]) < 1e-7 for pair in set(got) & set(expected))
        found += len(got)
    assert found > 2000
