"""Calls of gRPC that Ctrl-C does not break off half way."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeVar

_A = TypeVar("_A")
# Windows does not interrupt a wait without an end, seconds.
_LOOK_S = 0.1 if os.name == "nt" else -1


class _Work:
    """A call, and what became of it."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self._call = call
        self._answer: Any = None
        self._error: BaseException | None = None
        # Plain locks alone: in `Condition.__enter__`, which is Python, an interrupt leaves the lock taken.
        self._is_done = threading.Lock()
        self._is_done.acquire()

    def do(self) -> None:
        try:
            self._answer = self._call()
        except BaseException as error:
            self._error = error
        self._is_done.release()

    def wait(self) -> Any:
        while not self._is_done.acquire(timeout=_LOOK_S):
            pass
        if self._error is None:
            return self._answer
        try:
            raise self._error
        finally:
            # Else it would hold the frame that holds it.
            self._error = None


# To the thread that waits for work: one is enough, as the main thread makes one call at a time. None: there is none, as
# after an interrupt, when it still has that call to end; and not in a process that was forked.
_idle: tuple[int, SimpleQueue[_Work | None]] | None = None


def uninterrupted(call: Callable[[], _A]) -> _A:
    """Makes a call where no KeyboardInterrupt is raised.

    That comes in the main thread, wherever it is. Within gRPC it would leave locks of the connection taken, and every
    later call would wait for them. So another thread makes the calls of this one, and an interrupt ends the wait alone.
    """
    global _idle
    if threading.current_thread() is not threading.main_thread():
        return call()
    (process, works), _idle = _idle or (0, SimpleQueue()), None
    if process != os.getpid():
        works = SimpleQueue()
        threading.Thread(target=_do_all, args=(works,), name="palpate-calls", daemon=True).start()
    work = _Work(call)
    works.put(work)
    try:
        answer: _A = work.wait()
    except Exception:
        _idle = os.getpid(), works
        raise
    except BaseException:
        # It ends when it has done that.
        works.put(None)
        raise
    _idle = os.getpid(), works
    return answer


def _do_all(works: SimpleQueue[_Work | None]) -> None:
    while (work := works.get()) is not None:
        work.do()
        # Whatever it holds is not kept until the next one.
        del work
