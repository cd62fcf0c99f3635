"""Recordings: what others than Palpate read of them, with MCAP's own package and Foxglove's own schemas."""

from __future__ import annotations

import subprocess
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from support import SERVER_BIN, ServerProgram, block, octahedron

import palpate

mcap = pytest.importorskip("mcap.reader", reason="mcap is not installed")
# Descriptors of a package independent of Palpate.
frames = pytest.importorskip("foxglove_schemas_protobuf.FrameTransforms_pb2")
updates = pytest.importorskip("foxglove_schemas_protobuf.SceneUpdate_pb2")

TICKS = 120


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded")
    program = ServerProgram(folder, f"record.dir={folder}")
    try:
        with palpate.connect(program.address) as server:
            scene = server.create_scene("bench")
            positions, triangles = block((0.1, 0.1, 0.04), (8, 8, 3))
            tissue = scene.add_tissue("slab", (positions, triangles))
            probe = scene.add_tool("probe", octahedron(0.005))
            with scene.track([probe], render=[palpate.Render(probe)]) as loop:
                for i in range(TICKS):
                    if i == TICKS - 1:
                        # Poses are recorded every 10 ms: this includes the last one.
                        time.sleep(0.02)
                    loop.tick([0.0013, 0.0007, 0.01 - 1e-4 * i])
                    if i == TICKS // 2:
                        tissue.deform(positions - [0, 0, 1e-3])
            scene.delete()
    finally:
        program.end()
    return folder / "bench.mcap"


def test_what_was_removed_and_added_under_its_name_again_is_replayed(tmp_path: Path) -> None:
    # Never more than one tissue at a time, of one that a scene may have.
    program = ServerProgram(tmp_path, f"record.dir={tmp_path}", "limits.tissues_per_scene=1")
    n = 4
    try:
        with palpate.connect(program.address) as server, server.create_scene("again") as scene:
            for i in range(n):
                points, sides = octahedron(0.05)
                tissue = scene.add_tissue("organ", (points, sides))
                probe = scene.add_tool("probe", octahedron(0.005))
                tissue.deform(points - [0, 0, 1e-3 * i])
                with scene.track([probe], render=[palpate.Render(probe)]) as loop:
                    for _ in range(5):
                        loop.tick([0.0013, 0.0007, 0.052])
                tissue.remove()
                probe.remove()
    finally:
        program.end()
    replayed = subprocess.run([SERVER_BIN, "replay", tmp_path / "again.mcap"], capture_output=True, text=True)
    assert replayed.returncode == 0, replayed.stderr
    assert f"changes: {n} of {n} answered as then" in replayed.stdout, replayed.stdout
    assert replayed.stdout.count(": 5 answers equal bit for bit") == n, replayed.stdout


def messages(file: Path) -> dict[str, list[tuple[Any, Any]]]:
    """By topic: each message with its schema, decoded by the schema in the file alone."""
    by_topic: dict[str, list[tuple[Any, Any]]] = defaultdict(list)
    types: dict[int, Any] = {}
    with file.open("rb") as stream:
        for schema, channel, message in mcap.make_reader(stream).iter_messages():
            assert schema is not None and schema.encoding == channel.message_encoding == "protobuf"
            if schema.id not in types:
                pool = descriptor_pool.DescriptorPool()
                for described in descriptor_pb2.FileDescriptorSet.FromString(schema.data).file:
                    pool.Add(described)
                types[schema.id] = message_factory.GetMessageClass(pool.FindMessageTypeByName(schema.name))
            by_topic[channel.topic].append((schema, types[schema.id].FromString(message.data)))
    return by_topic


def test_other_readers_of_mcap_read_every_tick_and_answer(recording: Path) -> None:
    by_topic = messages(recording)
    head, end = (message for _, message in by_topic["/recording"])
    assert (head.scene_id, head.format, end.dropped_ticks, end.reason) == ("bench", 2, 0, "")
    ticks, answers = ([m for _, m in by_topic[f"/sessions/1/{part}"]] for part in ("ticks", "answers"))
    assert [tick.sequence for tick in ticks] == [answer.sequence for answer in answers]
    assert len(ticks) == TICKS
    assert not any(answer.session_token for answer in answers)
    forces = np.array([answer.renderings[0].force_n.z for answer in answers])
    assert forces[0] == 0 and forces.max() > 0.1
    changes = [change.WhichOneof("change") for _, change in by_topic["/changes"]]
    assert changes == ["saved", "saved", "deform"]


def test_foxglove_draws_tools_proxies_and_tissues(recording: Path) -> None:
    by_topic = messages(recording)
    for topic, known in (("/transforms", frames.FrameTransforms), ("/surfaces", updates.SceneUpdate)):
        for schema, message in by_topic[topic]:
            assert schema.name == known.DESCRIPTOR.full_name
            # Decoding with Foxglove's own field numbers gives an equal message.
            theirs = known.FromString(message.SerializeToString())
            assert str(theirs) == str(message)
    transforms = [t for _, message in by_topic["/transforms"] for t in message.transforms]
    children = {t.child_frame_id for t in transforms}
    assert {"1/probe", "1/probe/proxy"} <= children
    assert {t.parent_frame_id for t in transforms} - children == {"scene"}
    # The device enters the tissue, the proxy does not.
    lowest = {name: min(t.translation.z for t in transforms if t.child_frame_id == name) for name in children}
    assert lowest["1/probe"] < 0.0 and lowest["1/probe/proxy"] > 0.003
    entities = [e for _, message in by_topic["/surfaces"] for e in message.entities]
    slab = next(e for e in entities if e.id == "tissue 1")
    assert slab.frame_id == "scene"
    points, indices = slab.triangles[0].points, slab.triangles[0].indices
    assert len(indices) % 3 == 0 and max(indices) < len(points)
    # Each entity's frame has a transform to the scene.
    assert {e.frame_id for e in entities} - {"scene"} <= children
