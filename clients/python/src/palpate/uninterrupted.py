"""Calls of gRPC that Ctrl-C does not interrupt half way."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeVar

_A = TypeVar("_A")
# Windows does not interrupt an unlimited wait: interval of the wait, in seconds.
_LOOK_S = 0.1 if os.name == "nt" else -1


class _Work:
    """A call and its result."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self._call = call
        self._answer: Any = None
        self._error: BaseException | None = None
        # A plain lock: `Condition.__enter__` is Python code, and an interrupt there would leave the lock taken.
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
            # Otherwise the error would keep the frame that keeps the error.
            self._error = None


# Process id and queue of the thread that waits for calls: one thread is enough, because the main thread makes one call
# at a time. None if no thread waits, for example after an interrupt, while the thread still finishes its call; a forked
# process has no thread either.
_idle: tuple[int, SimpleQueue[_Work | None]] | None = None


def uninterrupted(call: Callable[[], _A]) -> _A:
    """Makes a call during which no KeyboardInterrupt is raised.

    Python raises KeyboardInterrupt in the main thread, at any point. Within gRPC it would leave
    locks of the connection taken, and every later call would wait for them. Another thread
    therefore makes the calls of the main thread, and an interrupt ends only the wait.
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
        # The thread ends when it has finished the call.
        works.put(None)
        raise
    _idle = os.getpid(), works
    return answer


def _do_all(works: SimpleQueue[_Work | None]) -> None:
    while (work := works.get()) is not None:
        work.do()
        # The work and all that it holds are released before the next wait.
        del work
