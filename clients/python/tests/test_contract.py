"""What is shipped of the contract is the contract, and arrays go over the wire as protobuf has them."""

from __future__ import annotations

import dataclasses
import enum
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import google.protobuf
import grpc
import numpy as np
import pytest
from support import CLIENT, REPOSITORY

import palpate
from palpate import answers, contract, deformations, packed, views


def test_the_descriptors_and_types_are_those_of_the_proto_files() -> None:
    pytest.importorskip("grpc_tools", reason="grpcio-tools is not installed beside this protobuf")
    script = CLIENT / "tools" / "make_contract.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_its_version_is_the_server_s() -> None:
    manifest = (REPOSITORY / "Cargo.toml").read_text()
    assert f'\nversion = "{palpate.__version__}"\n' in manifest


def test_it_runs_beside_this_protobuf(figure: Callable[[str], None]) -> None:
    versions = f"protobuf {google.protobuf.__version__}, grpcio {grpc.__version__}, NumPy {np.__version__}"
    figure(f"Python {platform.python_version()}, {versions}")
    assert set(contract.CALLS) >= {"Track", "Deform", "AddTissue", "HoldTissue"}


def test_options_have_every_field_of_the_contract() -> None:
    def fields(name: str) -> set[str]:
        return set(contract.message(name).DESCRIPTOR.fields_by_name)

    def names(kind: Any) -> set[str]:
        return {field.name for field in dataclasses.fields(kind)}

    assert names(palpate.Report) == fields("ReportOptions")
    assert names(palpate.Render) - {"tool"} == fields("RenderOptions") - {"tool_id"}
    assert names(palpate.ToolPose) == fields("ToolPose") - {"tool_id"}
    assert names(palpate.Probe) == fields("Probe")


def test_a_deformation_is_what_protobuf_would_send() -> None:
    request = contract.message("DeformRequest")
    positions = np.linspace(-1, 1, 300).reshape(-1, 3)
    for hold in (False, True):
        sent = deformations.encode("theatre", 7, 300, positions, None, hold)
        wanted = request(scene_id="theatre", tissue_id=7, sequence=300, hold=hold)
        wanted.dense.positions_m.extend(positions.ravel().tolist())
        assert request.FromString(sent) == wanted
    sparse = deformations.encode("theatre", 7, 1, positions[:2], [4, 9])
    read = request.FromString(sparse).sparse
    assert list(read.vertices) == [4, 9]
    assert np.array_equal(read.positions_m, positions[:2].ravel().astype(np.float32))


@pytest.mark.parametrize("number", [0, 1, 127, 128, 16_383, 16_384, 2**32 - 1, 2**63])
def test_varints_are_those_of_protobuf(number: int) -> None:
    tick = contract.message("Tick")(sequence=number)
    # Field 1, wire type 0.
    assert tick.SerializeToString() == (b"\x08" + packed.varint(number) if number else b"")


def test_35_000_vertices_are_encoded_in_a_fifth_of_a_millisecond(figure: Callable[[str], None]) -> None:
    positions = np.zeros((35_000, 3), np.float32)
    taken = []
    for sequence in range(200):
        begun = time.perf_counter()
        deformations.encode("theatre", 1, sequence, positions)
        taken.append(time.perf_counter() - begun)
    figure(f"35,000 vertices are encoded in {1e6 * np.median(taken):.0f} us")
    # The minimum is the time of the code itself, without other work of the machine.
    assert min(taken) < 200e-6


def test_arrays_that_do_not_fit_are_named() -> None:
    with pytest.raises(ValueError, match=r"positions_m has the shape \(2, 2\), expected \(n, 3\)"):
        deformations.encode("a", 1, 1, np.zeros((2, 2)))
    with pytest.raises(ValueError, match="2 vertices have 1 positions"):
        deformations.encode("a", 1, 1, np.zeros((1, 3)), [1, 2])
    with pytest.raises(ValueError, match="whole numbers"):
        packed.indices([0.5], "triangles")
    with pytest.raises(ValueError, match="-1 to 2"):
        packed.indices([-1, 2], "triangles")


def test_answers_are_arrays_and_say_what_is_missing() -> None:
    raw = contract.message("TrackResponse")(sequence=3, flags=64 | 2 | 1 << 30)
    link = raw.links.add(signed_distance_m=0.5, is_lower_bound=True)
    answer = answers.TrackResponse(raw)
    assert answer.flags & palpate.Flag.SWEPT and not answer.flags & palpate.Flag.STALE
    # A flag of a newer server is kept.
    assert int(answer.flags) == 64 | 2 | 1 << 30
    assert answer.links[0].on_tool is None and answer.resumed_sequence is None
    assert answer.links[0].contacts.on_tissue_xyz_m.shape == (0, 3)
    link.contacts.states.extend([1, 2])
    link.contacts.normal_xyz.extend([0, 0, 1, 0, 1, 0])
    contacts = answers.LinkAnswer(link).contacts
    assert contacts.normal_xyz.tolist() == [[0, 0, 1], [0, 1, 0]]
    assert (contacts.states == palpate.ContactState.PERSIST).tolist() == [False, True]
    with pytest.raises(AttributeError, match="TrackResponse has no 'link'"):
        assert answer.link  # type: ignore[attr-defined]
    # A state of a newer server is kept too.
    rendering = answers.Rendering(contract.message("Rendering")(state=77))
    assert rendering.state == 77 and rendering.state.name == "UNKNOWN_77"
    with pytest.raises(ValueError, match="Rendering.force_n"):
        assert rendering.force_n


def test_every_field_of_an_answer_has_a_type() -> None:
    described, enums = views.reachable()
    stub = (CLIENT / "src" / "palpate" / "answers.pyi").read_text()
    for one in described:
        mixin = views.MIXINS.get(one.name)
        assert f"class {one.name}({f'{mixin.__name__}, ' if mixin else ''}Answer):" in stub
        assert set(getattr(answers, one.name)._readers) == set(one.fields_by_name)
    assert all(issubclass(getattr(answers, views.MASKS.get(e.name, e.name)), enum.Enum) for e in enums)


def test_poses_and_matrices_are_the_same() -> None:
    rng = np.random.default_rng(1)
    turns = rng.normal(size=(50, 4))
    # Half turns about each axis are included: many formulas divide by zero there.
    turns[:3] = np.eye(4)[:3]
    for turn in turns:
        turn /= np.linalg.norm(turn)
        pose = palpate.Pose(rng.normal(size=3), turn)
        back = palpate.Pose.from_matrix(pose.matrix)
        # A quaternion and its negative are one rotation.
        assert abs(back.orientation @ turn) == pytest.approx(1, abs=1e-12)
        assert np.array_equal(back.position_m, pose.position_m)
        # Rotation by quaternion products, independent of the matrix.
        v, w, p = turn[:3], turn[3], rng.normal(size=3)
        turned = p + 2 * np.cross(v, np.cross(v, p) + w * p)
        assert np.allclose(pose * p, turned + pose.position_m, atol=1e-12)
    with pytest.raises(ValueError, match="expected a rotation"):
        palpate.Pose.from_matrix(np.diag([1, 1, -1, 1]))
