"""The haptic loop: sends poses and reads answers, on a thread of its own."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import grpc

from .answers import TrackResponse
from .contract import message
from .errors import (
    Aborted,
    Closed,
    Elsewhere,
    NotFound,
    Refused,
    Unavailable,
    of_refusal,
)
from .loop_options import Render, Report
from .member import id_in
from .owners import HOPS_MAX, PAUSE_S
from .pose import PoseLike
from .tool import Tool
from .tool_pose import ToolPose, tool_pose
from .uninterrupted import uninterrupted

if TYPE_CHECKING:
    from .server import Server

_UNAVAILABLE = grpc.StatusCode.UNAVAILABLE.value[0]
_REQUEST = message("TrackRequest")
_TICK = message("Tick")
# Maximum number of ticks that wait for the transport. If the transport does not keep up, the oldest ticks are dropped,
# and the sweep goes straight from the tick before them to the tick after them.
_WAITING_MAX = 64
# Maximum number of ticks in flight whose poses are remembered: four seconds at 1 kHz, longer than any answer is late.
_UNDER_WAY_MAX = 4096
# A server that owes an answer for this long, in seconds, is left and looked up again: a cut network reports no error.
_SILENT_S = 2.0
# Time that a new loop waits for a refusal, in seconds. The first tick reports a later refusal.
_REFUSAL_S = 0.1


# One pose if the loop has one tool, or one pose per tool.
Poses = PoseLike | ToolPose | Mapping[Tool, PoseLike | ToolPose]


class HapticLoop:
    """A stream of ticks and the thread that reads its answers; `Scene.track` opens one.

    `send` never waits. `answer` is the newest answer. If the connection breaks, the loop reconnects
    and resumes its session: contacts keep their ids, proxies stay where they were, and the sweep
    covers the motion in between. If servers share scenes, the loop follows its scene to the server
    that has it, and begins a session there: contacts have new ids, and proxies and the sweep
    continue from the last answer. The next `send`, `wait` or `tick` raises the error of a refused
    tick, and the error that ended the loop. May be used from any thread.
    """

    def __init__(
        self,
        server: Server,
        scene_id: str,
        tools: Sequence[Tool],
        render: Sequence[Tool | Render],
        report: Report | None,
        mode: str,
        deadline_us: int,
        on_answer: Callable[[TrackResponse], None] | None,
        reconnect_s: float,
    ) -> None:
        modes = ("latest", "every")
        if mode not in modes:
            raise ValueError(f"mode is {mode!r}, expected one of {', '.join(modes)}")
        self._server = server
        self._scene_id = scene_id
        self._tool_ids = [id_in(scene_id, tool, Tool, "tools") for tool in tools]
        self._start = message("TrackStart")(
            scene_id=scene_id,
            tool_ids=self._tool_ids,
            mode=f"TRACK_MODE_{mode.upper()}",
            report=(report or Report()).message(),
            render=[(r if isinstance(r, Render) else Render(r)).message(scene_id) for r in render],
        )
        self._deadline_us = deadline_us
        self._on_answer = on_answer
        self._reconnect_s = float(reconnect_s)

        # This lock guards all writes to the fields below. It is taken directly: `Condition.__enter__` is Python code,
        # and an interrupt there would leave the lock taken.
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._waiting: deque[Any] = deque()
        self._newest: list[Any] = []
        # Last tick that teleported a tool, by tool id: if that tick is lost, the motion to its pose is not swept.
        self._teleported: dict[int, int] = {}
        self._sequence = 0
        # Unanswered ticks, oldest first: sequence and poses.
        self._under_way: deque[tuple[int, list[Any]]] = deque(maxlen=_UNDER_WAY_MAX)
        self._answer: TrackResponse | None = None
        # Poses of the tick that `_answer` belongs to.
        self._answered_poses: list[Any] = []
        # Sequence of the newest tick that was answered or refused.
        self._answered = 0
        self._answered_at = time.monotonic()
        # Time at which the server was last heard, or last owed no answer.
        self._heard_at = self._answered_at
        self._refusal: Refused | None = None
        self._failure: BaseException | None = None
        self._is_closed = False
        self._is_open = False
        self._token = b""
        # Connection to the scene's owner, as far as it is known, and the server that has the token's session.
        self._connection = server.owners.of(scene_id)
        self._session_at = self._connection.place()
        # Number of servers that have named another since the last answer.
        self._hops = 0
        # Start of the open stream, and time at which the last answered stream broke off.
        self._begun_at = self._lost_at = self._answered_at
        # Time since which the server of this stream has not known whether it owns the scene.
        self._unsure_since: float | None = None
        self._call: Any = None
        # True once a stream was accepted: after that the loop reconnects.
        self._was_open = False
        # State of the open stream: it is a reconnection, it requested its session, it was answered.
        self._is_return = False
        self._is_resumed = False
        self._is_answered = False
        # Number of reconnections.
        self.reconnected = 0
        # Number of reconnections after which the session was gone and a new one continued from its last answer:
        # contacts have new ids, and friction and grips start again.
        self.sessions_lost = 0
        # Number of ticks dropped because the transport did not keep up.
        self.dropped = 0

        self._thread = threading.Thread(target=self._run, name="palpate-track", daemon=True)
        server.loops.add(self)
        self._thread.start()
        try:
            with self._lock:
                self._changed.wait_for(lambda: self._is_open or self._failure is not None)
        except BaseException:
            # The caller has no object to close.
            self.close()
            raise
        if self._failure is not None:
            raise self._failure

    @property
    def answer(self) -> TrackResponse | None:
        """The newest answer that is not a refusal; None before the first. It may be old: see
        `age_s`.
        """
        return self._answer

    @property
    def age_s(self) -> float:
        """Seconds since the newest answer arrived, or since the loop was opened. After 50 ms the
        answer's force must not be applied any more: let it fade.
        """
        return time.monotonic() - self._answered_at

    @property
    def is_connected(self) -> bool:
        """True if a stream is open now."""
        return self._is_open

    def send(self, poses: Poses) -> int:
        """Sends a tick without waiting. Returns its sequence, which its answer repeats.

        Raises:
            Refused: an earlier tick was refused. This tick was not sent.
            PalpateError: the loop is over.
            ValueError: there is no pose for each tool.
        """
        tools = self._tool_poses(poses)
        with self._lock:
            self._raise_what_happened()
            return self._put(tools)

    def tick(self, poses: Poses, timeout_s: float | None = None) -> TrackResponse:
        """Sends a tick and waits for its answer, in lock-step: for tests, and for hosts that step.

        Raises:
            Refused: the tick was refused.
            TimeoutError: no answer came in time.
        """
        return self.wait(self.send(poses), timeout_s)

    def wait(self, sequence: int | None = None, timeout_s: float | None = None) -> TrackResponse:
        """Waits for the answer of a tick or of a later one; without `sequence`, of the newest tick
        sent.

        Raises:
            Refused: a tick was refused.
            PalpateError: the loop is over.
            TimeoutError: no answer came in time.
            ValueError: no tick was sent yet.
        """
        with self._lock:
            wanted = self._sequence if sequence is None else sequence
            if wanted == 0:
                raise ValueError("no tick was sent yet, expected one to wait for")

            def is_there() -> bool:
                is_answered = self._answer is not None and self._answer.sequence >= wanted
                return is_answered or bool(self._refusal or self._failure or self._is_closed)

            until = None if timeout_s is None else time.monotonic() + timeout_s
            while not is_there():
                left_s = _SILENT_S if until is None else min(_SILENT_S, until - time.monotonic())
                if left_s <= 0:
                    raise TimeoutError(f"tick {wanted} has no answer after {timeout_s} s")
                self._changed.wait_for(is_there, left_s)
                self._leave_if_silent()
            self._raise_what_happened()
            assert self._answer is not None
            return self._answer

    def close(self) -> None:
        """Ends the loop and its session."""
        with self._lock:
            self._is_closed = True
            self._changed.notify_all()
        if threading.current_thread() is self._thread:
            # `on_answer` called this: the loop ends when it returns.
            return
        # Closing this side ends the session at once; a server that does not react is abandoned.
        self._thread.join(timeout=1.0)
        if self._thread.is_alive() and self._call is not None:
            uninterrupted(self._call.cancel)

    def __enter__(self) -> HapticLoop:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _tool_poses(self, poses: Poses) -> list[Any]:
        if isinstance(poses, Mapping):
            given = {id_in(self._scene_id, tool, Tool, "poses"): pose for tool, pose in poses.items()}
        elif len(self._tool_ids) == 1:
            given = {self._tool_ids[0]: poses}
        else:
            raise ValueError(f"one pose was given, expected one for each of {len(self._tool_ids)} tools")
        messages = []
        for tool_id, pose in given.items():
            whole = pose if isinstance(pose, ToolPose) else ToolPose(pose)
            messages.append(tool_pose(tool_id, whole.pose, whole.link_poses, whole.teleport))
        return messages

    def _put(self, tools: list[Any]) -> int:
        """Queues a tick. The caller holds the lock."""
        self._leave_if_silent()
        self._sequence += 1
        self._newest = tools
        for tool in tools:
            if tool.teleport:
                self._teleported[tool.tool_id] = self._sequence
        if len(self._waiting) == _WAITING_MAX:
            put = [tool.tool_id for tool in self._waiting.popleft().tools if tool.teleport]
            _teleport(self._waiting[0].tools, put)
            self.dropped += 1
        tick = _TICK(
            sequence=self._sequence,
            client_time_ns=time.monotonic_ns(),
            tools=tools,
            deadline_us=self._deadline_us,
        )
        self._waiting.append(tick)
        self._under_way.append((self._sequence, tools))
        self._changed.notify_all()
        return self._sequence

    def _leave_if_silent(self) -> None:
        """Ends a stream whose server takes ticks and answers none. The caller holds the lock."""
        if self._answered == self._sequence:
            self._heard_at = time.monotonic()
        elif self._is_open and time.monotonic() - self._heard_at > _SILENT_S:
            self._is_open = False
            uninterrupted(self._call.cancel)

    def _raise_what_happened(self) -> None:
        """Raises a refusal or the error that ended the loop. The caller holds the lock."""
        if self._refusal is not None:
            refusal, self._refusal = self._refusal, None
            raise refusal
        if self._failure is not None:
            # The traceback is cleared because it grows with every frame that the error is raised through, and keeps
            # their contents.
            raise self._failure.with_traceback(None)
        if self._is_closed:
            raise Closed("the loop is closed")

    def _run(self) -> None:
        """Runs the loop's thread."""
        try:
            self._streams()
        except BaseException as error:
            # A fault of this package is reported instead of leaving callers waiting.
            with self._lock:
                self._failure, self._is_open, self._is_closed = error, False, True
                self._changed.notify_all()

    def _streams(self) -> None:
        """Opens stream after stream, until one ends for good."""
        while True:
            failure = self._stream()
            with self._lock:
                self._is_open = False
            comes_back = failure is not None and self._comes_back(failure)
            with self._lock:
                if not comes_back:
                    self._failure = None if self._is_closed else failure
                    self._is_closed = True
                    self._changed.notify_all()
                    return
                # Ticks in flight may be lost: the newest pose is sent again.
                self._waiting.clear()
                self._under_way.clear()
                if self._newest:
                    answered = 0 if self._answer is None else self._answer.sequence
                    _teleport(self._newest, [tool for tool, when in self._teleported.items() if when > answered])
                    self._put(self._newest)

    def _comes_back(self, failure: BaseException) -> bool:
        """Looks for the server after a stream that broke off. Returns False if the loop is over."""
        now = time.monotonic()
        # A long stream in which nothing was asked counts as a good one too.
        if self._is_answered or now - self._begun_at > self._reconnect_s:
            self._lost_at = now
        # A server that reports UNAVAILABLE is reachable and may serve again.
        if self._was_open and isinstance(failure, Unavailable) and failure.is_told:
            self._lost_at = now
        if isinstance(failure, NotFound) and failure.subject == "session":
            # The session ended before the loop reconnected: a new session starts with new contacts.
            self._token = b""
            return True
        if isinstance(failure, Elsewhere):
            if not self._was_open and self._hops == HOPS_MAX:
                return False
            self._server.owners.go(self._scene_id, self._connection, failure.address)
            self._connection = self._server.owners.of(self._scene_id)
            # The first redirect is followed at once, later ones after a pause: a named server may be gone, and is named
            # until its lease expires.
            if self._hops > 0:
                self._pause()
            self._hops += 1
        elif isinstance(failure, Aborted) and self._was_open:
            # Another stream held the session until now; the server releases it before the next try.
            self._pause()
        # A loop that was never open has a wrong address rather than a broken connection, unless a server reports
        # otherwise.
        elif isinstance(failure, Unavailable) and (self._was_open or failure.is_told):
            # A server that is shutting down is reachable and refuses: the pause limits how often it is called.
            self._pause()
        else:
            return False
        while not self._is_closed and time.monotonic() - self._lost_at < self._reconnect_s:
            # This waits for the connection instead of trying calls: older versions of gRPC connect only while a caller
            # waits.
            if self._connection.is_reached(self._scene_id, PAUSE_S):
                return True
            # The first try went to the server that has the session.
            self._server.owners.leave(self._scene_id, self._connection)
            self._connection = self._server.owners.of(self._scene_id)
        return False

    def _pause(self) -> None:
        with self._lock:
            self._changed.wait_for(lambda: self._is_closed, PAUSE_S)

    def _stream(self) -> BaseException | None:
        """Runs one stream from start to end. Returns None if it ended because the loop was closed."""
        is_over = threading.Event()
        self._begun_at = time.monotonic()
        self._unsure_since = None
        try:
            has_session = bool(self._token) and self._session_at == self._connection.place()
            self._is_return, self._is_resumed, self._is_answered = self._was_open, has_session, False
            try:
                self._call = self._connection.open("Track", self._requests(is_over))
            except Closed as error:
                return error
            self._wait_until_open(self._call)
            for raw in self._call:
                self._take(raw)
            return None if self._is_closed else Unavailable(f"{self._connection.address} ended the stream")
        except grpc.RpcError as error:
            return self._connection.failure("Track", error)
        except BaseException as error:
            # Errors of `on_answer`, `sys.exit` included.
            self._call.cancel()
            return error
        finally:
            is_over.set()
            with self._lock:
                self._changed.notify_all()

    def _wait_until_open(self, call: Any) -> None:
        ended = threading.Event()
        # Headers arrive once the start is accepted. Headers of a refusal look equal, and its status, sent in the same
        # frame, is reported a moment later.
        self._connection.host.hear(call.initial_metadata())
        if not call.add_callback(ended.set) or not self._was_open and ended.wait(_REFUSAL_S):
            return
        with self._lock:
            self._is_open = self._was_open = True
            self._heard_at = time.monotonic()
            self._changed.notify_all()

    def _requests(self, is_over: threading.Event) -> Iterator[bytes]:
        """Requests that gRPC's own thread takes and sends."""
        start = message("TrackStart")()
        start.CopyFrom(self._start)
        if self._is_resumed:
            start.resume_token = self._token
        else:
            self._go_on(start)
        yield _REQUEST(start=start).SerializeToString()
        while True:
            with self._lock:
                self._changed.wait_for(lambda: self._waiting or self._is_closed or is_over.is_set())
                if self._is_closed or is_over.is_set():
                    return
                tick = self._waiting.popleft()
            yield _REQUEST(tick=tick).SerializeToString()

    def _poses_of(self, sequence: int) -> list[Any]:
        """Returns the poses of the tick that an answer belongs to; none if they are no longer
        known. The caller holds the lock.
        """
        while self._under_way and self._under_way[0][0] <= sequence:
            sent, tools = self._under_way.popleft()
            if sent == sequence:
                return tools
        return []

    def _go_on(self, start: Any) -> None:
        """Makes a loop without its session continue from its last answer."""
        with self._lock:
            if self._answer is None or not self._answered_poses:
                return
            start.last_poses.extend(self._answered_poses)
            for rendering in self._answer.raw.renderings:
                last = start.last_proxies.add(tool_id=rendering.tool_id, pose=rendering.proxy)
                last.link_poses.extend(rendering.proxy_link_poses)

    def _take(self, raw: Any) -> None:
        self._heard_at = time.monotonic()
        if raw.session_token:
            # The server did not refuse the stream.
            self._connection.host.keep()
            self._token, self._session_at = raw.session_token, self._connection.place()
        if raw.is_notice:
            return
        # This is no answer: the scene may be moving to another server, and the stream then continues or names that
        # server.
        if raw.HasField("refusal") and raw.refusal.code == _UNAVAILABLE:
            self._refused(raw.refusal.message)
            return
        self._unsure_since = None
        if not self._is_answered and self._is_return:
            # Written in this order so that a thread that sees the reconnection also sees whether the session was lost.
            self.sessions_lost += not self._is_resumed
            self.reconnected += 1
        self._is_answered = True
        self._hops = 0
        answer = TrackResponse(raw)
        with self._lock:
            self._answered = raw.sequence
            if raw.HasField("refusal"):
                self._refusal = of_refusal("Track", raw.refusal)
            else:
                self._answer, self._answered_poses = answer, self._poses_of(raw.sequence)
            self._answered_at = time.monotonic()
            self._changed.notify_all()
        if self._on_answer is not None:
            # Messages that arrive in the meantime are read when this returns.
            self._heard_at = math.inf
            self._on_answer(answer)
            self._heard_at = time.monotonic()

    def _refused(self, text: str) -> None:
        """Handles a refusal by a server that is reachable and may serve the scene again.

        After a while the loop leaves the server for another, if there is one. If no server has the
        scene, for example while no server can reach the store, the loop returns to this server.
        """
        now, here = time.monotonic(), self._connection
        if self._unsure_since is None:
            self._unsure_since = now
        if now - self._unsure_since < _SILENT_S or not self._server.owners.leave(self._scene_id, here):
            return
        self._connection = self._server.owners.of(self._scene_id)
        raise Unavailable(f"{here.address} does not serve the scene: {text}", is_told=True)


def _teleport(tools: Iterable[Any], put: Sequence[int]) -> None:
    """Marks the tick that replaces lost ticks in which the tools `put` were teleported."""
    for tool in tools:
        tool.teleport = tool.teleport or tool.tool_id in put
