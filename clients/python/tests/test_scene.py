"""Scenes, deformations, cuts, exports and queries, against a server."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support import CORNERS, SIDES, ServerProgram, block, octahedron

import palpate


def octahedron_distance(points: np.ndarray, radius_m: float) -> np.ndarray:
    """In `f64` by hand: inside it is the distance to the nearest of eight planes."""
    distances: np.ndarray = (np.abs(points).sum(axis=1) - radius_m) / np.sqrt(3)
    return distances


def test_a_scene_is_made_described_and_deleted(server: palpate.Server) -> None:
    with server.create_scene("short-lived") as scene:
        tissue = scene.add_tissue("organ", octahedron(0.05))
        tool = scene.add_tool("probe", octahedron(0.005), probes=[palpate.Probe("tip", (0, 0, -0.005))])
        assert "short-lived" in [found.scene_id for found in server.scenes()]
        assert tissue.report.closed and tissue.report.sign_rule == palpate.SignRule.PSEUDONORMAL
        # An octahedron of radius r has the volume 4/3 r^3.
        assert tissue.report.volume_m3 == pytest.approx(4 / 3 * 0.05**3, rel=1e-6)
        again = server.scene("short-lived")
        assert again.tissues()["organ"].id == tissue.id and again.tools()["probe"].id == tool.id
        assert again.describe().tools[0].probes[0].position_m is not None
        tool.remove()
        tissue.remove()
        assert not again.tissues() and not again.tools()
    with pytest.raises(palpate.NotFound):
        server.scene("short-lived")


def test_progress_of_a_build_is_told_while_it_goes_on(scene: palpate.Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("palpate.scene._BETWEEN_LOOKS_S", 0.0)
    told = []
    # A link of its own, so that its field is built and not read from the cache.
    link = palpate.Link("tip", octahedron(0.0123), tolerance_m=5e-6)
    scene.add_tool("probe", [link], progress=lambda build: told.append((build.tool, build.link, build.share)))
    assert told and all(one[:2] == ("probe", "tip") for one in told)
    shares = [share for _, _, share in told]
    assert shares == sorted(shares) and 0 <= shares[0] and shares[-1] <= 1
    assert not scene.describe().field_builds


def test_a_unix_socket_serves_calls_and_loops(tmp_path: Path) -> None:
    socket = tmp_path / "palpate.socket"
    program = ServerProgram(tmp_path, f"unix_socket={socket}")
    try:
        with palpate.connect(f"unix:{socket}") as server, server.create_scene("near") as scene:
            scene.add_tissue("organ", octahedron(0.05))
            with scene.track([scene.add_tool("probe", octahedron(0.005))]) as loop:
                assert loop.tick([0, 0, 0.06]).links[0].signed_distance_m == pytest.approx(0.005)
    finally:
        program.end()


def test_a_file_is_what_its_arrays_are(scene: palpate.Scene, tmp_path: Path) -> None:
    lines = [f"v {x} {y} {z}" for x, y, z in CORNERS] + [f"f {a} {b} {c}" for a, b, c in SIDES + 1]
    (tmp_path / "organ.obj").write_text("\n".join(lines))
    file = scene.add_tissue("file", tmp_path / "organ.obj", scale_to_m=0.05).export()
    arrays = scene.add_tissue("arrays", octahedron(0.05)).export()
    assert np.array_equal(file.positions_m, arrays.positions_m)
    assert np.array_equal(file.triangles, arrays.triangles)
    with pytest.raises(ValueError, match="'TXT', expected one of OBJ"):
        scene.add_tissue("text", tmp_path / "organ.txt")
    with pytest.raises(FileNotFoundError):
        scene.add_tissue("gone", tmp_path / "gone.obj")


def test_a_left_handed_mesh_is_turned(scene: palpate.Scene) -> None:
    positions, triangles = octahedron(0.05)
    mirrored = positions * (1, 1, -1)
    surface = scene.add_tissue("organ", (mirrored, triangles[:, ::-1]), left_handed=True).export()
    assert np.allclose(surface.positions_m, mirrored * (1, 1, -1))
    tool = scene.add_tool("probe", (mirrored, triangles[:, ::-1]), left_handed=True)
    assert np.allclose(tool.export()[0].positions_m, positions)


def test_a_hole_of_a_tool_is_filled_where_that_is_asked_for(scene: palpate.Scene) -> None:
    positions, triangles = octahedron(0.005)
    torn = (positions, triangles[1:])
    assert not scene.add_tool("torn", torn).reports[0].closed
    filled = scene.add_tool("filled", torn, fill_holes_m=0.01).reports[0]
    assert filled.closed and filled.filled_holes == 1


def test_what_is_unusual_about_a_mesh_is_a_warning(scene: palpate.Scene) -> None:
    positions, triangles = octahedron(0.05)
    with pytest.warns(palpate.MeshWarning, match="the mesh of 'torn' is open, with one triangle at 3 edges") as warned:
        torn = scene.add_tissue("torn", (positions, triangles[:-1]))
    assert warned[0].filename == __file__ and len(warned) == len(torn.report.warnings) == 1
    large = palpate.Link("large", (positions, triangles), scale_to_m=100)
    with pytest.warns(palpate.MeshWarning, match="'large' may be in another unit: the longest side is 10 m"):
        scene.add_tool("probe", [palpate.Link("tip", octahedron(0.005)), large])


def test_a_large_mesh_goes_in_chunks_and_comes_back(scene: palpate.Scene) -> None:
    positions, triangles = block((0.2, 0.2, 0.1), (90, 90, 60))
    assert len(positions) > 35_000
    tissue = scene.add_tissue("slab", (positions, triangles))
    surface = tissue.export()
    assert np.array_equal(surface.positions_m, positions.astype(np.float32))
    assert np.array_equal(surface.triangles, triangles)
    lifted = positions + (0, 0, 0.01)
    done = tissue.deform(lifted)
    assert done.geometry_revision == 1 and done.triangles_touched == len(triangles)
    assert np.array_equal(tissue.export().positions_m, lifted.astype(np.float32))


def test_a_tool_of_links_is_exported_link_by_link(scene: palpate.Scene) -> None:
    jaws = [
        palpate.Link("left", octahedron(0.005), rest_pose=(0.01, 0, 0)),
        palpate.Link("right", octahedron(5.0), scale_to_m=0.001, rest_pose=palpate.Pose((-0.01, 0, 0))),
    ]
    tool = scene.add_tool("grasper", jaws)
    surfaces = tool.export()
    assert len(surfaces) == len(tool.fields) == 2
    assert np.allclose(surfaces[0].positions_m, surfaces[1].positions_m)
    scene.add_tissue("organ", octahedron(0.05))
    # At rest the links are 10 mm to the sides. Apart in x and z, octahedra of 50 and 5 mm are nearest at edges on which
    # |x| + z is 50 and 5 mm.
    rest, moved = [(0.01, 0.01)], [(0.02, 0.03)]
    for sides, given in ((rest, []), (moved, [(0.02, 0, 0), (-0.03, 0, 0)])):
        answer = scene.query_contacts(tool, (0, 0, 0.06), link_poses=given)
        found = [link.signed_distance_m for link in answer.links]
        for side, distance in zip(sides[0], found, strict=True):
            assert distance == pytest.approx((side + 0.06 - 0.055) / np.sqrt(2), abs=1e-7)


def test_deformations_are_acknowledged_in_order(scene: palpate.Scene) -> None:
    tissue = scene.add_tissue("organ", octahedron(0.05))
    with scene.deformations(in_flight_max=4) as stream:
        sent = [stream.send(tissue, octahedron(0.05 + 1e-4 * n)[0]) for n in range(50)]
        revisions = [answer.result(timeout=10).geometry_revision for answer in sent]
    assert revisions == list(range(1, 51))
    assert tissue.deform([[0, 0, 0.06]], vertices=[4]).geometry_revision == 51
    assert tissue.export().positions_m[4].tolist() == pytest.approx([0, 0, 0.06])


def test_a_solver_that_is_faster_than_the_server_is_held_back(tmp_path: Path) -> None:
    program = ServerProgram(tmp_path)
    with palpate.connect(program.address) as server, server.create_scene("slow") as scene:
        tissue = scene.add_tissue("organ", octahedron(0.05))
        stream = scene.deformations(in_flight_max=2)
        stream.send(tissue, octahedron(0.05)[0]).result(timeout=10)
        program.stop()
        sent = [stream.send(tissue, octahedron(0.05)[0]) for _ in range(2)]
        third = threading.Thread(target=lambda: sent.append(stream.send(tissue, octahedron(0.06)[0])))
        third.start()
        third.join(timeout=0.3)
        assert third.is_alive() and len(sent) == 2
        program.go_on()
        third.join(timeout=10)
        assert [answer.result(timeout=10).geometry_revision for answer in sent] == [2, 3, 4]
        stream.close()
    program.end()


def is_soon(condition: Callable[[], bool]) -> bool:
    until = time.monotonic() + 10
    while not condition() and time.monotonic() < until:
        time.sleep(0.01)
    return condition()


def test_tissues_leave_no_stream_and_no_thread_behind(program: ServerProgram) -> None:
    before = threading.active_count()
    positions = octahedron(0.05)[0]
    with palpate.connect(program.address) as server, palpate.connect(program.address) as other:
        # More scenes than a connection has streams.
        for n in range(100):
            with server.create_scene(f"theatre-{n}") as scene:
                scene.add_tissue("organ", octahedron(0.05)).deform(positions)
            assert threading.active_count() < before + 20
        with server.create_scene("last") as scene:
            for n in range(70):
                organ = scene.add_tissue("organ", octahedron(0.05))
                organ.deform(positions)
                # Looked up again, as by a client that does not keep the object.
                assert scene.tissues()["organ"].deform(positions).geometry_revision == 2
                assert server.scene("last").tissues()["organ"].deform(positions).geometry_revision == 3
                if n < 69:
                    organ.remove()
            assert is_soon(lambda: threading.active_count() < before + 10)
            with scene.track([scene.add_tool("probe", octahedron(0.005))]) as loop:
                for n in range(100):
                    assert loop.tick([0, 0, 0.06 + 1e-5 * n], timeout_s=10).sequence == n + 1
        # One scene is deleted by another client, one left by a connection that is closed.
        for name in ("gone", "left"):
            scene = server.create_scene(name)
            organ = scene.add_tissue("organ", octahedron(0.05))
            organ.deform(positions)
            if name == "left":
                server.close()
            else:
                other.scene(name).delete()
                with pytest.raises(palpate.NotFound):
                    organ.deform(positions)
            assert is_soon(lambda: "palpate-deform" not in [thread.name for thread in threading.enumerate()])
        other.scene("left").delete()
    assert is_soon(lambda: threading.active_count() <= before)


def test_who_finds_all_streams_of_a_connection_in_use_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = ServerProgram(tmp_path, "transport.streams_per_connection_max=4")
    monkeypatch.setattr(palpate.connection, "_WAIT_S", 0.5)
    with palpate.connect(program.address) as server, server.create_scene("full") as scene:
        tissue, tool = scene.add_tissue("organ", octahedron(0.05)), scene.add_tool("probe", octahedron(0.005))
        streams = [scene.deformations() for _ in range(4)]
        for stream in streams:
            stream.send(tissue, octahedron(0.05)[0]).result(timeout=10)
        calls: list[Callable[[], object]] = [
            scene.describe,
            tissue.export,
            lambda: scene.add_tissue("other", octahedron(0.05)),
            lambda: scene.track([tool]).close(),
            lambda: tissue.deform(octahedron(0.05)[0]),
        ]
        for call in calls:
            with pytest.raises(palpate.DeadlineExceeded, match="all streams of a connection are open"):
                call()
        streams.pop().close()
        for call in calls:
            call()
    program.end()


def test_a_refused_deformation_moves_nothing_and_the_next_goes_on(scene: palpate.Scene) -> None:
    tissue = scene.add_tissue("organ", octahedron(0.05))
    with scene.deformations() as stream:
        good = stream.send(tissue, octahedron(0.06)[0])
        bad = stream.send(tissue, np.full((6, 3), np.nan))
        assert good.result(timeout=10).geometry_revision == 1
        with pytest.raises(palpate.InvalidArgument) as refused:
            bad.result(timeout=10)
        assert refused.value.field == "dense.positions_m[0]"
        assert "NaN, expected a finite coordinate" in refused.value.message
        assert stream.send(tissue, octahedron(0.07)[0]).result(timeout=10).geometry_revision == 2


def test_distances_are_those_of_an_octahedron(scene: palpate.Scene) -> None:
    tissue = scene.add_tissue("organ", octahedron(0.05))
    tool = scene.add_tool("probe", octahedron(0.005))
    points = np.random.default_rng(2).uniform(-0.016, 0.016, (500, 3))
    for target in (None, tissue):
        found = scene.query_distances(points, target)
        assert np.allclose(found.signed_distance_m, octahedron_distance(points, 0.05), atol=1e-8)
        on = found.closest_xyz_m + found.signed_distance_m[:, None] * found.normal_xyz
        assert np.allclose(on, points, atol=1e-7)
    far = scene.query_distances([[0, 0, 0.08], [0, 0, 0.06]], max_distance_m=0.02)
    assert far.is_lower_bound.tolist() == [True, False] and far.signed_distance_m[0] >= 0.02
    assert far.signed_distance_m[1] == pytest.approx(0.01)
    inside = points / 16
    moved = scene.query_distances(inside + (0.1, 0, 0), (tool, 0, (0.1, 0, 0)))
    # A link's field is accurate to its tolerance, a thousandth of its diagonal.
    assert np.allclose(moved.signed_distance_m, octahedron_distance(inside, 0.005), atol=2e-5)


def test_a_cut_names_what_it_made(scene: palpate.Scene) -> None:
    tissue = scene.add_tissue("organ", octahedron(0.05))
    middle = 0.05 * CORNERS[SIDES[0]].mean(axis=0)
    a, b, c = SIDES[0]
    done = tissue.edit_topology(
        [0], [middle], [[a, b, 6], [b, c, 6], [c, a, 6]], parents=[0, 0, 0], base_topology_revision=0
    )
    assert (done.first_vertex, done.topology_revision) == (6, 1)
    assert done.remap[0].new_triangles.tolist() == [8, 9, 10]
    with pytest.raises(palpate.FailedPrecondition) as refused:
        tissue.edit_topology([1], base_topology_revision=0)
    assert refused.value.subject == "TOPOLOGY_REVISION"
    assert tissue.export().triangle_ids.tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]


def test_tissues_that_pass_through_each_other_are_found(scene: palpate.Scene) -> None:
    below = scene.add_tissue("below", octahedron(0.05))
    above = scene.add_tissue("above", (octahedron(0.01)[0] + (0, 0, 0.08), SIDES))
    held = above.hold().geometry_revision
    above.deform(octahedron(0.01)[0] + (0, 0, 0.04))
    found = scene.self_collisions([below, palpate.Motion(above, held)])
    # Tip to tip: 0.07 m meets 0.05 m half way of 0.04 m.
    assert found.contacts.toi[0] == pytest.approx(0.5, abs=1e-6)
    assert found.contacts.vertex_ids.shape == (len(found.contacts.toi), 4)
    assert found.totals.vertex_face + found.totals.edge_edge == len(found.contacts.toi)
    few = scene.self_collisions([below, palpate.Motion(above, held)], max_contacts=1)
    assert len(few.contacts.toi) == 1 and few.totals.vertex_face == found.totals.vertex_face
    with pytest.raises(palpate.FailedPrecondition):
        scene.self_collisions([palpate.Motion(above, 99)])


def test_many_contacts_come_in_one_piece(scene: palpate.Scene) -> None:
    below = scene.add_tissue("below", block((0.1, 0.1, 0.02), (40, 40, 2)))
    positions, triangles = block((0.09, 0.09, 0.02), (37, 37, 2))
    above = scene.add_tissue("above", (positions + (0, 0, 0.021), triangles))
    held = above.hold().geometry_revision
    above.deform(positions + (0, 0, 0.019))
    found = scene.self_collisions([below, palpate.Motion(above, held)], max_contacts=65_536)
    contacts, totals = found.contacts, found.totals
    # Each vertex of the smaller side meets at least one face of the other; a chunk has 4,096.
    assert len(contacts.toi) == totals.vertex_face + totals.edge_edge > max(38 * 38, 2 * 4_096)
    assert len(contacts.point_xyz_m) == len(contacts.vertex_ids) == len(contacts.toi)
    assert (np.diff(contacts.toi) >= 0).all()
    assert np.allclose(contacts.point_xyz_m[:, 2], 0, atol=1e-6)


def test_an_incision_is_a_call(scene: palpate.Scene) -> None:
    organ = scene.add_tissue("organ", block((0.1, 0.1, 0.04), (10, 10, 4)))
    whole = organ.report.volume_m3
    along = np.linspace(0, 1, 9)[:, None]
    path = np.array([-0.03, 0.003, 0.0]) * (1 - along) + np.array([0.03, 0.012, 0.0]) * along
    made = organ.cut_along(path, width_m=0.001, depth_m=0.005)
    lips = made.incision
    assert lips is not None and len(lips.left_vertices) == len(lips.right_vertices) == len(lips.floor_vertices) > 9
    surface = organ.export()
    left, right, floor = (
        surface.positions_m[at] for at in (lips.left_vertices, lips.right_vertices, lips.floor_vertices)
    )
    # Ends are single; between them the lips are apart, to the left and to the right, and the floor is below.
    assert (left[[0, -1]] == right[[0, -1]]).all()
    assert np.linalg.norm(left - right, axis=1).max() == pytest.approx(lips.width_m, abs=1e-7)
    assert (left[1:-1, 1] > right[1:-1, 1]).all() and floor[1:-1, 2] == pytest.approx(-0.005, abs=1e-6)
    corners = surface.positions_m[surface.triangles].astype(float)
    volume = np.einsum("ni,ni->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6
    assert 0 < whole - volume < 0.5 * 0.001 * 0.005 * 0.061
    # Half way down the incision is outside.
    assert scene.query_distances([[0, 0.0075, -0.0015]]).signed_distance_m[0] > 0
    with pytest.raises(palpate.InvalidArgument, match="incision: point 1 is 0.05"):
        organ.cut_along([[0, 0, 0.0], [0, 0, 0.05]])
    with pytest.raises(ValueError, match="path_m"):
        organ.cut_along([[0, 0]])
