"""The haptic loop: lock-step and free, through refusals, lost connections and ends."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import CutConnection, ServerProgram, octahedron

import palpate
from palpate.answers import TrackResponse


@pytest.fixture
def probe(scene: palpate.Scene) -> palpate.Tool:
    """Above an organ whose tip is at z = 50 mm; its own is 5 mm below its origin."""
    scene.add_tissue("organ", octahedron(0.05))
    return scene.add_tool("probe", octahedron(0.005), probes=[palpate.Probe("tip", (0, 0, -0.005), 0.001)])


@pytest.fixture
def wire(program: ServerProgram) -> Iterator[CutConnection]:
    wire = CutConnection(program.address)
    yield wire
    wire.close()


def test_ticks_in_lock_step(scene: palpate.Scene, probe: palpate.Tool) -> None:
    with scene.track([probe]) as loop:
        for z in np.linspace(0.08, 0.056, 25):
            answer = loop.tick([0, 0, z])
            assert answer.links[0].signed_distance_m == pytest.approx(z - 0.055, abs=1e-8)
            assert answer.probes[0].signed_distance_m == pytest.approx(z - 0.056, abs=1e-8)
        assert answer.flags & palpate.Flag.SWEPT
        link = loop.tick([0, 0, 0.052]).links[0]
        assert link.contacts.total > 0 and link.signed_distance_m < 0
        assert link.on_tissue is not None and link.on_tool is not None and link.normal is not None
        apart = link.on_tool.position_m - link.on_tissue.position_m
        assert np.allclose(apart, link.signed_distance_m * link.normal, atol=1e-9)


def test_the_newest_pose_wins_and_every_tick_is_accounted_for(scene: palpate.Scene, probe: palpate.Tool) -> None:
    answers: list[TrackResponse] = []
    with scene.track([probe], on_answer=answers.append) as loop:
        sent = [loop.send([0, 0, 0.09 - 1e-5 * n]) for n in range(2_000)]
        last = loop.wait(timeout_s=10)
        assert last.sequence == sent[-1]
        assert last.links[0].signed_distance_m == pytest.approx(0.09 - 1e-5 * 1_999 - 0.055, abs=1e-8)
        accounted = len(answers) + sum(answer.coalesced for answer in answers) + loop.dropped
    assert accounted == 2_000


def test_every_tick_is_answered_when_asked(scene: palpate.Scene, probe: palpate.Tool) -> None:
    answered: list[int] = []
    with scene.track([probe], mode="every", on_answer=lambda a: answered.append(a.sequence)) as loop:
        for n in range(60):
            loop.send([0, 0, 0.09 - 1e-5 * n])
        loop.wait(timeout_s=10)
    assert answered == list(range(1, 61))


def test_sending_does_not_wait_for_a_stopped_server(tmp_path: Path) -> None:
    program = ServerProgram(tmp_path)
    with palpate.connect(program.address) as server:
        scene = server.create_scene("stopped")
        scene.add_tissue("organ", octahedron(0.05))
        loop = scene.track([scene.add_tool("probe", octahedron(0.005))])
        loop.tick([0, 0, 0.1])
        program.stop()
        taken = []
        for n in range(3_000):
            begun = time.perf_counter()
            loop.send([0, 0, 0.1 + 1e-6 * n])
            taken.append(time.perf_counter() - begun)
        with pytest.raises(TimeoutError, match="tick 3001 has no answer after 0.2 s"):
            loop.wait(timeout_s=0.2)
        assert loop.age_s > 0.2
        program.go_on()
        assert loop.wait(timeout_s=10).sequence == 3_001
        # No send waited for an answer, which was at least a fifth of a second away.
        assert max(taken) < 0.2
        loop.close()
    program.end()


def test_a_server_that_hangs_is_left_and_taken_up_with_its_session(tmp_path: Path) -> None:
    program = ServerProgram(tmp_path)
    with palpate.connect(program.address) as server:
        scene = server.create_scene("hangs")
        scene.add_tissue("organ", octahedron(0.05))
        with scene.track([scene.add_tool("probe", octahedron(0.005))]) as loop:
            before = loop.tick([0, 0, 0.054])
            program.stop()
            loop.send([0, 0, 0.0539])
            # No thread sends; the waiting thread detects the silence.
            with pytest.raises(TimeoutError):
                loop.wait(timeout_s=2.5)
            assert not loop.is_connected
            program.go_on()
            after = loop.tick([0, 0, 0.0538], timeout_s=10)
            assert (loop.reconnected, loop.sessions_lost) == (1, 0)
            kept = set(before.links[0].contacts.contact_ids.tolist())
            assert kept & set(after.links[0].contacts.contact_ids.tolist())
    program.end()


def test_a_refused_tick_is_told_and_the_loop_goes_on(scene: palpate.Scene, probe: palpate.Tool) -> None:
    with scene.track([probe]) as loop:
        good = loop.tick([0, 0, 0.1])
        with pytest.raises(palpate.InvalidArgument) as refused:
            loop.tick(palpate.Pose((0, 0, 20_000.0)))
        assert refused.value.field == "tools[0].pose.position_m.z"
        assert "20000, expected" in refused.value.message
        assert loop.answer is good
        assert loop.tick([0, 0, 0.1]).sequence == 3
        with pytest.raises(ValueError, match=r"shape \(2,\)"):
            loop.send([0, 0])


def test_two_tools_have_a_pose_each(scene: palpate.Scene, probe: palpate.Tool) -> None:
    other = scene.add_tool("other", octahedron(0.005))
    with scene.track([probe, other]) as loop:
        with pytest.raises(ValueError, match="one for each of 2 tools"):
            loop.send([0, 0, 0.1])
        with pytest.raises(palpate.InvalidArgument):
            loop.tick({probe: [0, 0, 0.1]})
        answer = loop.tick({other: [0, 0, 0.07], probe: palpate.ToolPose([0, 0, 0.09], teleport=True)})
        distances = {link.tool_id: link.signed_distance_m for link in answer.links}
        assert distances == pytest.approx({probe.id: 0.035, other.id: 0.015}, abs=1e-8)


def test_what_a_loop_cannot_begin_with_is_told_at_once(scene: palpate.Scene, probe: palpate.Tool) -> None:
    with pytest.raises(palpate.InvalidArgument) as refused:
        scene.track([probe], render=[palpate.Render(probe, friction=9)])
    assert refused.value.field == "start.render[0].friction"
    with pytest.raises(palpate.NotFound) as unknown:
        scene.track([palpate.Tool(scene, 99, "none", [], [])])
    assert unknown.value.subject == "tool"
    with pytest.raises(ValueError, match="'newest', expected one of latest, every"):
        scene.track([probe], mode="newest")  # type: ignore[arg-type]


def test_options_reach_the_server(scene: palpate.Scene, probe: palpate.Tool) -> None:
    report = palpate.Report(max_distance_m=0.2, omit_contacts=True, report_stages=True)
    with scene.track([probe], report=report) as loop:
        loop.tick([0, 0, 0.21])
        answer = loop.tick([0, 0, 0.2])
        assert not answer.links[0].is_lower_bound and answer.stages is not None
        assert answer.unswept_reason == palpate.UnsweptReason.NOT_ASKED_FOR
        assert loop.tick([0, 0, 0.052]).links[0].contacts.total == 0
    with scene.track([probe], deadline_us=1) as loop:
        # No contact search fits in a microsecond.
        answers = [loop.tick([0, 0, 0.07 - 1e-4 * n]) for n in range(20)]
        assert any(answer.flags & palpate.Flag.DEGRADED for answer in answers)
    with scene.track([probe]) as loop:
        loop.tick([0, 0, 0.1])
        assert loop.tick([0, 0, 0.09]).flags & palpate.Flag.SWEPT
        put = loop.tick(palpate.ToolPose([0, 0, 0.1], teleport=True))
        assert put.unswept_reason == palpate.UnsweptReason.TELEPORT


def test_a_loop_ends_with_its_scene(server: palpate.Server) -> None:
    scene = server.create_scene("deleted")
    scene.add_tissue("organ", octahedron(0.05))
    loop = scene.track([scene.add_tool("probe", octahedron(0.005))])
    loop.tick([0, 0, 0.1])
    scene.delete()
    with pytest.raises(palpate.NotFound):
        loop.tick([0, 0, 0.1], timeout_s=10)
    with pytest.raises(palpate.NotFound):
        loop.send([0, 0, 0.1])
    loop.close()


def test_a_closed_loop_says_so_and_leaves_no_thread(scene: palpate.Scene, probe: palpate.Tool) -> None:
    loop = scene.track([probe])
    loop.tick([0, 0, 0.1])
    loop.close()
    loop.close()
    with pytest.raises(palpate.Closed, match="the loop is closed"):
        loop.send([0, 0, 0.1])
    assert not [t for t in threading.enumerate() if t.name == "palpate-track"]


def test_a_callback_may_end_its_loop(scene: palpate.Scene, probe: palpate.Tool) -> None:
    loop = scene.track([probe], on_answer=lambda answer: loop.close())
    with pytest.raises(palpate.PalpateError, match="closed"):
        loop.wait(loop.send([0, 0, 0.1]) + 1, timeout_s=10)


def test_a_loop_ends_with_its_connection(program: ServerProgram, scene: palpate.Scene, probe: palpate.Tool) -> None:
    server = palpate.connect(program.address)
    far = server.scene(scene.id)
    loop = far.track([probe])
    loop.tick([0, 0, 0.1])
    tissue = far.tissues()["organ"]
    tissue.deform(octahedron(0.05)[0])
    server.close()
    with pytest.raises(palpate.Closed, match="the loop is closed"):
        loop.tick([0, 0, 0.1], timeout_s=10)
    for use in (
        lambda: tissue.deform(octahedron(0.05)[0]),
        lambda: far.track([probe]),
        lambda: far.add_tissue("late", octahedron(0.05)),
        lambda: tissue.export(),
        lambda: server.scenes(),
    ):
        with pytest.raises(palpate.Closed, match=f"the connection to {program.address} is closed"):
            use()


def test_what_is_no_tool_is_told(scene: palpate.Scene, probe: palpate.Tool) -> None:
    not_one: Any = 1
    with pytest.raises(TypeError, match="tools has 1, expected a palpate.Tool"):
        scene.track([not_one])
    with pytest.raises(TypeError, match="render has 1, expected a palpate.Tool"):
        scene.track([probe], render=[not_one])
    with scene.track([probe]) as loop, pytest.raises(TypeError, match="poses has 'probe', expected a palpate.Tool"):
        loop.send({"probe": [0, 0, 0.1]})  # type: ignore[dict-item]


def test_a_program_that_ends_with_a_loop_open_ends(
    program: ServerProgram, scene: palpate.Scene, probe: palpate.Tool
) -> None:
    code = f"""
import palpate
scene = palpate.connect({program.address!r}).scene({scene.id!r})
loop = scene.track([scene.tools()["probe"]])
loop.tick([0, 0, 0.1])
scene.tissues()["organ"].deform([[0, 0, 0.05]], vertices=[4])
print("done")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=20)
    assert (done.stdout, done.returncode) == ("done\n", 0), done.stderr


def test_what_a_callback_raises_ends_the_loop(scene: palpate.Scene, probe: palpate.Tool) -> None:
    def fail(answer: TrackResponse) -> None:
        raise ValueError("mine")

    with scene.track([probe], on_answer=fail) as loop:
        loop.send([0, 0, 0.1])
        with pytest.raises(ValueError, match="^mine$"):
            loop.wait(loop.send([0, 0, 0.1]) + 1, timeout_s=10)


def test_a_lost_connection_is_taken_up_with_its_contacts(
    scene: palpate.Scene, probe: palpate.Tool, wire: CutConnection
) -> None:
    with palpate.connect(wire.address) as far:
        with far.scene(scene.id).track([probe], render=[probe]) as loop:
            loop.tick([0, 0, 0.06])
            before = loop.tick([0, 0, 0.054])
            wire.cut()
            # Poses continue while no server is reachable.
            for n in range(20):
                loop.send([0, 0, 0.054 - 1e-5 * n])
                time.sleep(0.005)
            assert not loop.is_connected
            wire.mend()
            after = loop.tick([0, 0, 0.0535], timeout_s=10)
            assert (loop.reconnected, loop.sessions_lost) == (1, 0)
            kept = set(before.links[0].contacts.contact_ids.tolist())
            assert kept & set(after.links[0].contacts.contact_ids.tolist())
            # The proxy continued from its position outside, and did not start inside.
            assert after.renderings[0].state == palpate.RenderState.TOUCHING
            assert after.sequence > before.sequence


def test_a_loop_that_was_still_for_long_comes_back(
    scene: palpate.Scene, probe: palpate.Tool, wire: CutConnection
) -> None:
    with palpate.connect(wire.address) as far, far.scene(scene.id).track([probe], reconnect_s=0.5) as loop:
        loop.tick([0, 0, 0.06])
        for times in (1, 2):
            time.sleep(0.7)
            wire.cut()
            wire.mend()
            loop.tick([0, 0, 0.06], timeout_s=10)
            assert loop.reconnected == times


def test_a_teleport_that_was_lost_is_one_all_the_same(
    scene: palpate.Scene, probe: palpate.Tool, wire: CutConnection
) -> None:
    with palpate.connect(wire.address) as far, far.scene(scene.id).track([probe], render=[probe]) as loop:
        loop.tick([0, 0, 0.1])
        wire.cut()
        loop.send(palpate.ToolPose([0, 0, -0.1], teleport=True))
        # More ticks than the queue holds, so that the teleport is dropped on this side too.
        for n in range(100):
            loop.send([0, 0, -0.1 - 1e-5 * n])
        wire.mend()
        rendering = loop.tick([0, 0, -0.1], timeout_s=10).renderings[0]
        # If the motion had been swept, the organ would hold the proxy above itself.
        assert loop.reconnected == 1
        assert rendering.state == palpate.RenderState.FREE
        assert rendering.proxy.position_m.tolist() == [0, 0, -0.1]
        # Only one tick teleports: from here the organ is in the way.
        assert loop.tick([0, 0, 0.1]).renderings[0].state == palpate.RenderState.TOUCHING


def test_a_dropped_tick_leaves_its_teleport_to_the_next(
    tmp_path: Path,
) -> None:
    program = ServerProgram(tmp_path)
    with palpate.connect(program.address) as server:
        scene = server.create_scene("stopped")
        scene.add_tissue("organ", octahedron(0.05))
        probe = scene.add_tool("probe", octahedron(0.005))
        with scene.track([probe], render=[probe]) as loop:
            loop.tick([0, 0, 0.1])
            program.stop()
            # Sends until the transport accepts no more.
            while loop.dropped == 0:
                loop.send([0, 0, 0.1])
            loop.send(palpate.ToolPose([0, 0, -0.1], teleport=True))
            dropped = loop.dropped
            while loop.dropped < dropped + 70:
                loop.send([0, 0, -0.1])
            program.go_on()
            rendering = loop.wait(timeout_s=10).renderings[0]
            assert rendering.state == palpate.RenderState.FREE
            assert rendering.proxy.position_m.tolist() == [0, 0, -0.1]
    program.end()


@pytest.mark.parametrize("grace", ["0s", "50ms"])
def test_a_loop_whose_session_is_over_goes_on_from_its_last_answer_and_counts(tmp_path: Path, grace: str) -> None:
    program = ServerProgram(tmp_path, f"sessions.grace={grace}")
    wire = CutConnection(program.address)
    with palpate.connect(program.address) as near, palpate.connect(wire.address) as far:
        scene = near.create_scene("forgetful")
        scene.add_tissue("organ", octahedron(0.05))
        probe = scene.add_tool("probe", octahedron(0.005))
        with far.scene("forgetful").track([probe]) as loop:
            for times in (1, 2):
                loop.tick([0, 0, 0.1])
                wire.cut()
                # Longer than the grace period; the server may check later still, and then the session continues.
                time.sleep(0.2)
                wire.mend()
                answer = loop.tick([0, 0, -0.1], timeout_s=10)
                assert answer.links[0].signed_distance_m == pytest.approx(0.045, abs=1e-8)
                assert answer.links[0].contacts is not None, "the way between is swept"
                assert loop.reconnected == times
                assert loop.sessions_lost == times
    wire.close()
    program.end()


def test_a_server_that_stays_away_ends_the_loop(scene: palpate.Scene, probe: palpate.Tool, wire: CutConnection) -> None:
    with palpate.connect(wire.address) as far:
        loop = far.scene(scene.id).track([probe], reconnect_s=0.3)
        loop.tick([0, 0, 0.1])
        wire.cut()
        with pytest.raises(palpate.Unavailable):
            loop.tick([0, 0, 0.1], timeout_s=10)
        loop.close()


def load() -> float:
    """What else the machine did in the last minute, for each core."""
    return os.getloadavg()[0] / (os.cpu_count() or 1)


def test_a_loop_at_a_kilohertz(scene: palpate.Scene, probe: palpate.Tool, figure: Callable[[str], None]) -> None:
    """Prints what this machine does, as the next one."""
    taken = []

    def note(answer: TrackResponse) -> None:
        taken.append(1e-3 * (time.monotonic_ns() - answer.client_time_ns))

    with scene.track([probe], on_answer=note) as loop:
        begun = time.perf_counter()
        for n in range(1_000):
            time.sleep(max(0.0, begun + 1e-3 * n - time.perf_counter()))
            loop.send([0, 0, 0.08 + 1e-6 * n])
        loop.wait(timeout_s=10)
    p50, p99 = np.percentile(taken, [50, 99])
    late = np.mean(np.array(taken) > 1_000)
    told = f"at 1 kHz: p50 {p50:.0f} us, p99 {p99:.0f} us, {late:.1%} later than 1 ms, {len(taken)} answers"
    figure(f"{told}; load {load():.1f} for each core")


def test_round_trips_in_lock_step(scene: palpate.Scene, probe: palpate.Tool, figure: Callable[[str], None]) -> None:
    """Prints what this machine does; a machine that is busy is no failure of the client."""
    taken = []
    with scene.track([probe]) as loop:
        for n in range(1_000):
            begun = time.perf_counter()
            loop.tick([0, 0, 0.08 + 1e-6 * n])
            taken.append(time.perf_counter() - begun)
    p50, p99 = 1e6 * np.percentile(taken, [50, 99])
    figure(f"round trip: p50 {p50:.0f} us, p99 {p99:.0f} us; load {load():.1f} for each core")
