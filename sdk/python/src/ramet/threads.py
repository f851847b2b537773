"""Threads for functions without async, which end with the program and can be told to stop."""

from __future__ import annotations

import ctypes
import queue
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Threads:
    """A pool of daemon threads: one that hangs does not keep the program from ending, as those of executors do."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._queue: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._idle = 0
        self._count = 0

    def start(self, work: Callable[[], None]) -> None:
        """Have work done by a thread that is idle, or by a new one."""
        with self._lock:
            if self._idle:
                self._idle -= 1
            else:
                self._count += 1
                threading.Thread(target=self._serve, name=f"ramet-{self._count}", daemon=True).start()
        self._queue.put(work)

    def _serve(self) -> None:
        while (work := self._queue.get()) is not None:
            work()
            with self._lock:
                self._idle += 1

    def close(self) -> None:
        """Let the threads end that are idle, and others when they are."""
        for _ in range(self._count):
            self._queue.put(None)


class Interrupt:
    """Raises an exception in the thread that is inside of a block.

    It arrives when the thread runs Python code again: what waits in the operating system is not woken. It is sent at
    most once, and never after the block.
    """

    def __init__(self, kind: type[BaseException]) -> None:
        self._kind = kind
        self._lock = threading.Lock()
        self._thread: int | None = None
        self._sent = False

    def __enter__(self) -> None:
        """Begin the block."""
        with self._lock:
            self._thread = threading.get_ident()

    def __exit__(self, *_: object) -> None:
        """End the block; what has not arrived is called back."""
        with self._lock:
            thread, self._thread = self._thread, None
            if self._sent and thread is not None:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), None)

    def send(self) -> None:
        """Raise the exception in the thread, if it is inside of the block."""
        with self._lock:
            if self._thread is not None and not self._sent:
                self._sent = True
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._thread), ctypes.py_object(self._kind))
