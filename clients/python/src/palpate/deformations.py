"""A stream of deformations: sent without waiting, acknowledged in order."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

import grpc
import numpy.typing as npt

from .answers import DeformResponse
from .binding import states
from .contract import message
from .errors import Closed, PalpateError, Unavailable
from .member import id_in
from .owners import Route
from .packed import dense_positions, floats, indices
from .tissue import Tissue

if TYPE_CHECKING:
    from .server import Server

_REQUEST = message("DeformRequest")
_SPARSE = _REQUEST.DESCRIPTOR.fields_by_name["sparse"].number
_DENSE = _REQUEST.DESCRIPTOR.fields_by_name["dense"].number


def encode(
    scene_id: str,
    tissue_id: int,
    sequence: int,
    positions_m: npt.ArrayLike | None,
    vertices: npt.ArrayLike | None = None,
    hold: bool = False,
    controls: npt.ArrayLike | None = None,
    control_ids: npt.ArrayLike | None = None,
) -> bytes:
    """Encodes a request. The bytes of the positions are copied once.

    Raises:
        ValueError: positions are not rows of three, or not as many as vertices; or there are
            controls as well.
    """
    if controls is not None:
        if positions_m is not None or vertices is not None:
            raise ValueError("positions_m and controls were given, expected one of them")
        request = _REQUEST(scene_id=scene_id, tissue_id=tissue_id, sequence=sequence, hold=hold)
        moved = request.controls
        moved.state.extend(states(controls, "controls").ravel().tolist())
        moved.control_ids.extend(indices(() if control_ids is None else control_ids, "control_ids").tolist())
        # A message without members is present all the same: the server says what is missing in it.
        moved.SetInParent()
        return bytes(request.SerializeToString())
    if positions_m is None:
        raise ValueError("positions_m is missing, expected it or controls")
    positions = floats(positions_m, "positions_m")
    request = _REQUEST(scene_id=scene_id, tissue_id=tissue_id, sequence=sequence, hold=hold)
    if vertices is None:
        return b"".join([request.SerializeToString(), *dense_positions(_DENSE, positions)])
    named = indices(vertices, "vertices")
    if len(named) != len(positions):
        raise ValueError(f"{len(named)} vertices have {len(positions)} positions, expected as many")
    request.sparse.vertices.extend(named.tolist())
    request.sparse.positions_m.extend(positions.ravel().tolist())
    return bytes(request.SerializeToString())


class Deformations:
    """A stream of deformations of a scene's tissues; `Scene.deformations` opens one.

    Deformations are applied in the order in which they were sent, each all or nothing. A refused
    deformation ends the stream: it and all that were sent after it fail with the same error, and
    the next one opens a new stream. If the scene passes to another server, the stream continues
    there and sends the unanswered deformations again: a deformation gives the positions of
    vertices or the state of controls, and may be applied twice. A stream that is no longer
    referenced ends by itself. May be used from any thread.
    """

    def __init__(self, server: Server, scene_id: str, in_flight_max: int = 8) -> None:
        self._stream: _Stream | None = None
        if in_flight_max < 1:
            raise ValueError(f"in_flight_max is {in_flight_max}, expected at least 1")
        self._server = server
        self._scene_id = scene_id
        self._in_flight_max = in_flight_max
        self._sequence = 0
        # The sender holds this lock, so that requests are sent in the order of their sequence numbers.
        self._sending = threading.Lock()

    def send(
        self,
        tissue: Tissue,
        positions_m: npt.ArrayLike | None = None,
        *,
        vertices: npt.ArrayLike | None = None,
        controls: npt.ArrayLike | None = None,
        control_ids: npt.ArrayLike | None = None,
        hold: bool = False,
    ) -> Future[DeformResponse]:
        """Sends a deformation as `Tissue.deform` does and returns a future of the answer:
        `result()` waits for it.

        Waits while `in_flight_max` deformations are unanswered: a solver that is faster than the
        server is held back, and no queue grows.

        Raises:
            ValueError: the arrays do not fit, or the tissue belongs to another scene.
        """
        with self._sending:
            self._sequence += 1
            tissue_id = id_in(self._scene_id, tissue, Tissue, "tissue")
            moved = (positions_m, vertices, hold, controls, control_ids)
            request = encode(self._scene_id, tissue_id, self._sequence, *moved)
            while True:
                if self._stream is None or self._stream.is_over:
                    self._stream = _Stream(Route(self._server.owners, self._scene_id, may_repeat=True))
                sent = self._stream.send(request, self._in_flight_max)
                if sent is not None:
                    return sent

    def close(self) -> None:
        """Waits for the answers to all sent deformations, and ends the stream."""
        with self._sending:
            if self._stream is not None:
                self._stream.close()
                self._stream = None

    def __del__(self) -> None:
        if self._stream is not None:
            self._stream.end()

    def __enter__(self) -> Deformations:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Stream:
    """Calls of Deform, one after the other, and the thread that reads their answers."""

    def __init__(self, route: Route) -> None:
        self._route = route
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        # Unanswered deformations, in order, with their requests, which are sent again if another server now has the
        # scene.
        self._waiting: deque[tuple[Future[DeformResponse], bytes]] = deque()
        self.is_over = False
        self._is_ending = False
        self._call = self._open()
        self._reader = threading.Thread(target=self._read, name="palpate-deform", daemon=True)
        self._reader.start()

    def send(self, request: bytes, in_flight_max: int) -> Future[DeformResponse] | None:
        """Returns None if the stream has already ended."""
        with self._lock:
            self._changed.wait_for(lambda: self.is_over or len(self._waiting) < in_flight_max)
            if self.is_over:
                return None
            answer: Future[DeformResponse] = Future()
            # A sent deformation cannot be cancelled.
            answer.set_running_or_notify_cancel()
            self._waiting.append((answer, request))
            self._requests.put(request)
            return answer

    def close(self) -> None:
        with self._lock:
            self._changed.wait_for(lambda: self.is_over or not self._waiting)
        self.end()
        self._reader.join()

    def end(self) -> None:
        """Stops sending, without waiting."""
        # `_open` uses the reverse order: if both run at the same time, one of them ends the newest call.
        self._is_ending = True
        self._requests.put(None)

    def _open(self) -> Any:
        self._requests: SimpleQueue[bytes | None] = SimpleQueue()
        for _, request in self._waiting:
            self._requests.put(request)
        if self._is_ending:
            self._requests.put(None)
        requests: Iterator[bytes] = iter(self._requests.get, None)
        return self._route.connection.open("Deform", requests)

    def _read(self) -> None:
        failed = self._answers()
        while self._is_owed() and self._route.goes_on(failed):
            try:
                with self._lock:
                    self._call = self._open()
            except Closed as closed:
                failed = closed
                break
            failed = self._answers()
        with self._lock:
            self.is_over = True
            lost = list(self._waiting)
            self._waiting.clear()
            self._changed.notify_all()
        for answer, _ in lost:
            answer.set_exception(failed)

    def _is_owed(self) -> bool:
        """Returns True if a sent deformation has no answer. Otherwise the stream is over: the next
        deformation opens another.
        """
        with self._lock:
            self.is_over = not self._waiting
            return not self.is_over

    def _answers(self) -> PalpateError:
        """Reads all answers of a call and returns the error that ended it."""
        address = self._route.connection.address
        failed: PalpateError = Unavailable(f"the server at {address} ended the stream")
        try:
            for raw in self._call:
                with self._lock:
                    answered, _ = self._waiting.popleft()
                    self._changed.notify_all()
                self._route.arrived()
                answered.set_result(DeformResponse(raw))
        except grpc.RpcError as error:
            failed = self._route.connection.failure("Deform", error)
        # gRPC's own thread waits for the next request: None ends it.
        self._requests.put(None)
        return failed
