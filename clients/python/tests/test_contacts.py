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
