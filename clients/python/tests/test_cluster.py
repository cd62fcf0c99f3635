"""Several servers on one folder: calls, streams and loops follow a scene to the one that has it."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest
from support import SERVER_BIN, DevCertificates, ServerProgram, octahedron

import palpate
from palpate.answers import DeformResponse, TrackResponse
from palpate.connection import ServerAddress
from palpate.contract import message
from palpate.errors import Elsewhere
from palpate.owners import HOPS_MAX, Owners, Route

# Longer than a busy machine delays a server's lease heartbeat.
LEASE_S = 3.0
SHARED = ("cluster.shared=true", f"cluster.lease={LEASE_S:.0f}s", "store.snapshot_interval=1s")
# A long time limit, because a busy machine is not a failure of the client.
SOON_S = 60.0


class Theatre:
    """Two servers on one folder."""

    def __init__(self, folder: Path, *settings: str) -> None:
        self.servers = [ServerProgram(folder, *SHARED, *settings, log=f"{n}.log") for n in range(2)]
        self.first, self.second = (server.address for server in self.servers)
        # Addresses of all servers, as given to a client.
        self.text = f"{self.first}, {self.second}"


@pytest.fixture
def theatre(tmp_path: Path) -> Iterator[Theatre]:
    theatre = Theatre(tmp_path)
    yield theatre
    for server in theatre.servers:
        server.kill()


def furnish(server: palpate.Server) -> tuple[palpate.Scene, palpate.Tissue, palpate.Tool]:
    """An organ whose tip is at z = 50 mm, and a probe whose own is 5 mm below its origin."""
    scene = server.create_scene("shared")
    return scene, scene.add_tissue("organ", octahedron(0.05)), scene.add_tool("probe", octahedron(0.005))


def move(asked: str, to: str) -> None:
    """Through the command, as whoever runs servers does it."""
    command = [str(SERVER_BIN), "scenes", "move", "shared", "--to", to, "--server", asked]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0 and f"served at {to}" in done.stdout, done.stdout + done.stderr


class Hand:
    """Lowers and lifts a probe over an organ at 500 Hz, until it is let go, and notes when answers come."""

    def __init__(self, scene: palpate.Scene, probe: palpate.Tool) -> None:
        self._answered_at: list[float] = [time.monotonic()]
        self._ends = threading.Event()
        self.failure: BaseException | None = None
        self.loop = scene.track([probe], render=[probe], on_answer=self._note)
        self._thread = threading.Thread(target=self._move)
        self._thread.start()

    def gap_s(self) -> float:
        """The longest time without an answer, until now; forgets it."""
        times = [*self._answered_at, time.monotonic()]
        self._answered_at = times[-1:]
        return float(np.diff(times).max())

    def comes_back(self, reconnected: int) -> float:
        """Waits until the loop has come back so often; the longest time without an answer."""
        until = time.monotonic() + SOON_S
        while self.loop.reconnected < reconnected:
            assert self.failure is None, self.failure
            assert time.monotonic() < until, f"it came back {self.loop.reconnected} times, expected {reconnected}"
            time.sleep(0.005)
        return self.gap_s()

    def let_go(self) -> None:
        self._ends.set()
        self._thread.join()
        self.loop.close()
        if self.failure is not None:
            raise self.failure

    def _note(self, answer: TrackResponse) -> None:
        self._answered_at.append(time.monotonic())

    def _move(self) -> None:
        try:
            n = 0
            while not self._ends.wait(0.002):
                n += 1
                self.loop.send([0, 0, 0.06 + 0.01 * np.sin(0.01 * n)])
        except BaseException as error:
            self.failure = error


class Surgeon:
    """Hangs triangle after triangle on a tissue, as the README says where an answer may be lost."""

    def __init__(self, tissue: palpate.Tissue) -> None:
        self._tissue = tissue
        self._ends = threading.Event()
        # Acknowledged topology revisions, in order of acknowledgement.
        self.acknowledged: list[int] = []
        self.lost = 0
        self.failure: BaseException | None = None
        self._thread = threading.Thread(target=self._cut)
        self._thread.start()

    def let_go(self) -> None:
        self._ends.set()
        self._thread.join()
        if self.failure is not None:
            raise self.failure

    def makes(self, more: int) -> None:
        """Waits until so many more are acknowledged."""
        wanted, until = len(self.acknowledged) + more, time.monotonic() + SOON_S
        while len(self.acknowledged) < wanted:
            assert self.failure is None and time.monotonic() < until, self.failure
            time.sleep(0.01)

    def revision(self) -> int:
        found = {tissue.tissue_id: tissue for tissue in self._tissue.scene.describe().tissues}
        return found[self._tissue.id].topology_revision

    def _cut(self) -> None:
        try:
            revision = self.revision()
            while not self._ends.wait(0.02):
                try:
                    made = self._tissue.edit_topology(
                        [], [[0.5, 0.5, 0.5]], [[0, 2, 4]], base_topology_revision=revision
                    )
                    revision = made.topology_revision
                    self.acknowledged.append(revision)
                except palpate.Unavailable:
                    # The edit may have been made: the revision shows it.
                    self.lost += 1
                    revision = self.revision()
        except BaseException as error:
            self.failure = error


def test_calls_are_led_to_the_server_that_has_the_scene(theatre: Theatre) -> None:
    with palpate.connect(theatre.first) as near, palpate.connect(theatre.second) as far:
        here, organ, _ = furnish(near)
        there = far.scene("shared")
        # Every kind of call: unary, upload, download, streams.
        assert there.describe().tissues[0].name == "organ"
        added = there.add_tissue("other", octahedron(0.01))
        assert here.tissues()["other"].id == added.id
        assert len(there.tissues()["organ"].export().positions_m) == 6
        assert there.query_distances([[0, 0, 0.06]]).signed_distance_m == pytest.approx([0.01], abs=1e-8)
        there.tissues()["organ"].deform([[0, 0, 0.051]], vertices=[4])
        with there.track([there.tools()["probe"]]) as loop:
            assert loop.tick([0, 0, 0.06]).links[0].signed_distance_m == pytest.approx(0.004, abs=1e-8)
            assert (loop.reconnected, loop.sessions_lost) == (0, 0)
        assert there.self_collisions([there.tissues()["organ"]]).totals.vertex_face == 0
        # The owner's refusals are refusals here too.
        with pytest.raises(palpate.AlreadyExists):
            far.create_scene("shared")
        with pytest.raises(palpate.NotFound):
            far.scene("none")
        assert [scene.scene_id for scene in far.scenes()] == []

        # A client that does not know the scene's server moves it, and moves it back.
        there.move(theatre.second)
        # The server loads the scene when a call asks for it.
        there.describe()
        assert [scene.scene_id for scene in far.scenes()] == ["shared"]
        assert organ.deform(octahedron(0.05)[0]).geometry_revision > 0
        with pytest.raises(palpate.InvalidArgument) as nowhere:
            here.move("127.0.0.1:1")
        assert nowhere.value.field == "to_address"
        here.move(theatre.first)
        there.delete()
        with pytest.raises(palpate.NotFound):
            here.describe()


def test_a_scene_is_taken_from_an_owner_that_hangs(theatre: Theatre) -> None:
    with palpate.connect(theatre.first) as server:
        scene, _, _ = furnish(server)
        # No server has this address; the scene stays.
        with pytest.raises(palpate.Unavailable):
            scene.move("127.0.0.1:1", take_over=True)
        assert [tissue.name for tissue in scene.describe().tissues] == ["organ"]
        owner = theatre.servers[0]
        owner.stop()
        try:
            scene.move(theatre.second, take_over=True)
            described = scene.describe()
            assert [tool.name for tool in described.tools] == ["probe"]
        finally:
            owner.go_on()
        # The resumed server has lost the scene, and names the other server.
        with palpate.connect(theatre.first) as again:
            there = again.scene("shared")
            there.tissues()["organ"].deform(octahedron(0.04)[0])
            assert again.owners.of("shared").address == theatre.second


def test_a_loop_edits_and_deformations_go_on_while_their_scene_moves(
    theatre: Theatre, figure: Callable[[str], None]
) -> None:
    # The client knows only the first server, which redirects it to the other.
    with palpate.connect(theatre.first) as server:
        scene, organ, probe = furnish(server)
        hand, surgeon = Hand(scene, probe), Surgeon(organ)
        gaps: list[float] = []
        acknowledged: list[Future[DeformResponse]] = []
        with scene.deformations() as stream:
            for n in range(1, 5):
                surgeon.makes(5)
                hand.gap_s()
                to = (theatre.first, theatre.second)[n % 2]
                moving = threading.Thread(target=move, args=(theatre.first, to))
                moving.start()
                while moving.is_alive():
                    tip = [[0, 0, 0.05 + 1e-5 * len(acknowledged)]]
                    acknowledged.append(stream.send(organ, tip, vertices=[4]))
                    time.sleep(0.01)
                gaps.append(hand.comes_back(n))
                assert (hand.loop.reconnected, hand.loop.sessions_lost) == (n, n), (
                    "each is another session, and says so"
                )
            revisions = [answer.result(timeout=SOON_S).geometry_revision for answer in acknowledged]
        surgeon.let_go()
        hand.let_go()
        # All acknowledged edits are there, in order, whichever server is asked.
        assert revisions == sorted(revisions)
        assert surgeon.acknowledged == sorted(set(surgeon.acknowledged))
        with palpate.connect(theatre.second) as other:
            found = other.scene("shared").tissues()["organ"].export()
        last = len(acknowledged) - 1
        assert found.positions_m[4].tolist() == pytest.approx([0, 0, 0.05 + 1e-5 * last], abs=1e-8)
        assert len(found.triangles) == 8 + surgeon.revision() - surgeon.acknowledged[0] + 1
        figure(
            f"{len(gaps)} moves: a loop had no answer for p50 {np.median(gaps):.3f} s, at most {max(gaps):.3f} s; "
            f"{len(surgeon.acknowledged)} edits and {len(acknowledged)} deformations acknowledged, "
            f"the answers of {surgeon.lost} edits lost"
        )


def test_a_loop_goes_on_and_no_edit_is_lost_when_the_owner_is_killed(
    theatre: Theatre, figure: Callable[[str], None]
) -> None:
    with palpate.connect(theatre.text) as server:
        scene, organ, probe = furnish(server)
        hand, surgeon = Hand(scene, probe), Surgeon(organ)
        surgeon.makes(10)
        hand.gap_s()
        theatre.servers[0].kill()
        gap_s = hand.comes_back(1)
        assert hand.loop.sessions_lost == 1
        surgeon.makes(10)
        surgeon.let_go()
        hand.let_go()
        # Every acknowledged edit has a revision of its own; an edit whose answer was lost was made or not.
        assert surgeon.acknowledged == sorted(set(surgeon.acknowledged))
        n_edits = surgeon.revision() - surgeon.acknowledged[0] + 1
        assert len(surgeon.acknowledged) <= n_edits <= len(surgeon.acknowledged) + surgeon.lost
        assert len(organ.export().triangles) == 8 + n_edits
        figure(f"killed: a loop had no answer for {gap_s:.1f} s, the lease is {LEASE_S:.0f} s")


def test_a_loop_leaves_an_owner_that_is_silent(theatre: Theatre) -> None:
    with palpate.connect(theatre.text) as server:
        scene, _, probe = furnish(server)
        hand = Hand(scene, probe)
        theatre.servers[0].stop()
        gap_s = hand.comes_back(1)
        assert gap_s > 2.0 and hand.loop.sessions_lost == 1
        # The resumed server is no longer the owner: no client returns to it.
        theatre.servers[0].go_on()
        time.sleep(0.5)
        hand.let_go()
        assert hand.loop.reconnected == 1


class Unsure(grpc.GenericRpcHandler):
    """In front of a server; on demand each tick is refused, as by one that the store is out of reach of."""

    def __init__(self, server: str) -> None:
        self._channel = grpc.insecure_channel(server)
        self.is_unsure = False

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> Any:
        details = handler_call_details
        call: Any = self._channel.stream_stream(details.method)

        def forward(requests: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
            answers = call(requests, metadata=details.invocation_metadata)
            context.add_callback(lambda: None if answers.cancel() else None)
            try:
                # The client's loop is then open before any of its ticks is answered.
                context.send_initial_metadata(answers.initial_metadata())
                for answer in answers:
                    yield self._refused(answer) if self.is_unsure and details.method.endswith("/Track") else answer
            except grpc.RpcError as error:
                context.abort(error.code(), error.details() or "")

        return grpc.stream_stream_rpc_method_handler(forward)

    def _refused(self, answer: bytes) -> bytes:
        sequence = message("TrackResponse").FromString(answer).sequence
        refusal = {"code": grpc.StatusCode.UNAVAILABLE.value[0], "message": "its lease is over"}
        return bytes(message("TrackResponse")(sequence=sequence, refusal=refusal).SerializeToString())


def test_a_loop_leaves_a_server_that_refuses_every_tick(theatre: Theatre) -> None:
    unsure = Unsure(theatre.first)
    # Like a Palpate server, this one accepts frequent keepalive pings.
    options = [("grpc.http2.max_ping_strikes", 0), ("grpc.keepalive_permit_without_calls", 1)]
    front = grpc.server(ThreadPoolExecutor(16), handlers=[unsure], options=options)
    port = front.add_insecure_port("127.0.0.1:0")
    front.start()
    try:
        with palpate.connect(f"127.0.0.1:{port}, {theatre.first}") as server:
            scene, _, probe = furnish(server)
            hand = Hand(scene, probe)
            time.sleep(0.2)
            hand.gap_s()
            unsure.is_unsure = True
            assert 2.0 < hand.comes_back(1) < SOON_S
            hand.let_go()
            assert (hand.loop.reconnected, hand.loop.sessions_lost) == (1, 1)
        # With no other server the loop waits for this one, longer than for a server that is gone.
        with palpate.connect(f"127.0.0.1:{port}") as server:
            unsure.is_unsure = False
            with server.scene("shared").track([probe], reconnect_s=0.5) as loop:
                loop.tick([0, 0, 0.06])
                unsure.is_unsure = True
                until = time.monotonic() + 3.0
                while time.monotonic() < until:
                    loop.send([0, 0, 0.06])
                    time.sleep(0.01)
                unsure.is_unsure = False
                loop.tick([0, 0, 0.06])
                assert loop.reconnected == 0
    finally:
        front.stop(None)


def test_the_owner_is_reached_with_the_same_key_and_certificates(tmp_path: Path) -> None:
    made = DevCertificates(tmp_path)
    theatre = Theatre(tmp_path, *made.settings)
    try:
        with (
            palpate.connect(theatre.first, key=made.key, ca=made.ca) as near,
            palpate.connect(f"https://{theatre.second}", key=made.key, ca=made.ca) as far,
        ):
            _, _, probe = furnish(near)
            there = far.scene("shared")
            with there.track([probe]) as loop:
                assert loop.tick([0, 0, 0.06]).links[0].signed_distance_m == pytest.approx(0.005, abs=1e-8)
    finally:
        for server in theatre.servers:
            server.kill()


def test_the_first_of_several_that_answers_is_asked(theatre: Theatre) -> None:
    theatre.servers[0].kill()
    with palpate.connect(theatre.text) as server:
        furnish(server)
    theatre.servers[1].kill()
    with pytest.raises(palpate.Unavailable, match=theatre.second):
        palpate.connect(theatre.text)


class Starting(grpc.GenericRpcHandler):
    """Refuses its first calls, as a server that reads its scenes or renews its lease; lists no scene later."""

    def __init__(self, refuses: int) -> None:
        self.refuses = refuses

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> Any:
        def answer(request: bytes, context: grpc.ServicerContext) -> bytes:
            self.refuses -= 1
            if self.refuses >= 0:
                # Palpate's own refusals have details.
                context.set_trailing_metadata((("grpc-status-details-bin", b""),))
                context.abort(grpc.StatusCode.UNAVAILABLE, "its lease is over")
            return b""

        return grpc.unary_unary_rpc_method_handler(answer)


def test_a_server_that_does_not_serve_yet_is_asked_again() -> None:
    starting = Starting(refuses=5)
    front = grpc.server(ThreadPoolExecutor(2), handlers=[starting])
    port = front.add_insecure_port("127.0.0.1:0")
    front.start()
    try:
        # Nobody listens at the second address.
        for addresses in (f"127.0.0.1:{port}", f"127.0.0.1:{port}, 127.0.0.1:1"):
            starting.refuses = 5
            with palpate.connect(addresses) as server:
                assert server.scenes() == [] and starting.refuses < 0
        starting.refuses = 1_000_000
        with pytest.raises(palpate.Unavailable, match="its lease is over") as late:
            palpate.connect(f"127.0.0.1:{port}", timeout_s=0.5)
        assert late.value.is_told
    finally:
        front.stop(None)


def test_servers_that_name_each_other_are_not_followed_for_ever() -> None:
    owners = Owners(ServerAddress("127.0.0.1:1", None, None, None, None))
    route = Route(owners, "shared", may_repeat=True)
    for n in range(HOPS_MAX):
        named = Elsewhere("GetScene", "FAILED_PRECONDITION", "elsewhere", f"127.0.0.1:{2 + n % 2}")
        assert route.goes_on(named)
        assert route.connection.address == named.address
    assert not route.goes_on(named)
    # An owner's address is a host name only: no socket of this machine, and no other way of resolution.
    assert Owners(ServerAddress("a:1,https://b:2", None, None, None, None)).homes()[1].address == "https://b:2"
    owners.close()
