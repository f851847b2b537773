"""The job in a function's hands."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections import deque
from contextvars import ContextVar
from itertools import islice
from typing import TYPE_CHECKING

from . import durable
from .calls import JobKey
from .errors import Cause, Stopped
from .steps import AsyncSteps
from .wire import MAX_LINE_BYTES, MAX_LOG_LINES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from . import wire
    from .durable import Steps
    from .steps import Memory

LINES_ROOM = 512 << 10
"""How many letters of lines go with one request, 8 MiB of JSON at most: a letter may have six bytes."""

KEPT_LINES = 10 * MAX_LOG_LINES
"""How many lines of a job wait here while no node takes them; the oldest are dropped: the last say how it ended."""

KEPT_BYTES = 1020 << 10
"""How many bytes these count at the most, each line LINE_COST beside its text, as in a node.

More a node would cut from the log anyway, and then at its end, unless it was given more than the share of 1 MiB; some
is left for what is said of missing lines.
"""

LINE_COST = 64

_NOTHING = "nothing is remembered here: the job is in no worker's hands; tests run functions by ramet.testing"

_current: ContextVar[Job | None] = ContextVar("ramet_job", default=None)


class Job:
    """A job that is being run. It is safe to use from several threads."""

    def __init__(self, assignment: wire.Assignment, noted: Callable[[], None] | None = None) -> None:
        self.assignment = assignment
        self._noted = noted  # is told when there are lines
        self._memory: Memory | None = None
        self._steps: Steps | None = None
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._cause: Cause | None = None
        self._lines: deque[wire.LogLine] = deque()  # those on their way are not among them
        self._bytes = 0  # what these count
        self._missing = 0  # lines that were dropped just before these
        self._count = 0  # lines so far
        self._away: tuple[int, list[wire.LogLine]] = 0, []  # lines on their way, and how many are missing before them
        self._closed = False

    @property
    def record(self) -> wire.Job:
        """The job's record, as it was when the worker got it."""
        return self.assignment["job"]

    @property
    def key(self) -> JobKey:
        """The job's key, the same in all attempts: make what the function does idempotent by it."""
        return JobKey(self.record["caller_id"], self.record["id"])

    @property
    def type(self) -> str:
        """Its type, by which the worker found the function."""
        return self.record["script_type"]

    @property
    def attempt(self) -> int:
        """How many runs of the job have begun, this one too."""
        return self.assignment["attempt"]

    @property
    def env(self) -> Mapping[str, str]:
        """The variables of its flow and of the job."""
        return self.assignment.get("env", {})

    @property
    def traceparent(self) -> str | None:
        """The header of W3C Trace Context for what the function calls, if the job belongs to a trace."""
        return self.assignment.get("traceparent")

    @property
    def input(self) -> wire.Input:
        """What the flow gave it: parameters, and the results of what it needed."""
        return self.assignment["input"]

    @property
    def held(self) -> wire.HeldAttempt:
        """The attempt's name."""
        held: wire.HeldAttempt = {"caller": self.record["caller_id"], "id": self.record["id"], "attempt": self.attempt}
        if "started_ms" in self.record:
            held["started_ms"] = self.record["started_ms"]
        return held

    @property
    def cause(self) -> Cause | None:
        """Why the function is to stop, if it is."""
        return self._cause

    def stop(self, cause: Cause) -> bool:
        """Tell the function to stop; the first cause counts. Says whether it was the first."""
        with self._lock:
            first = self._cause is None
            if first:
                self._cause = cause
        self._stop.set()
        return first

    def check(self) -> None:
        """Raise Stopped if the function is to stop: for places where it can."""
        if self._cause is not None:
            raise Stopped(self._cause)

    def sleep(self, seconds: float) -> None:
        """Sleep in a function without async. Raises Stopped when the function is to stop."""
        self._stop.wait(seconds)
        self.check()

    def remember(self, memory: Memory, steps: Steps) -> None:
        """Have the job remember by these; the worker does so."""
        self._memory, self._steps = memory, steps

    @property
    def steps(self) -> Steps:
        """What the job remembers, for functions without async: steps, sleeps, waits."""
        if self._steps is None:
            raise LookupError(_NOTHING)
        return self._steps

    @property
    def asteps(self) -> AsyncSteps:
        """What the job remembers, for functions with async: await job.asteps.step(...)."""
        if self._memory is None:
            raise LookupError(_NOTHING)
        return AsyncSteps(self._memory)

    @property
    def suspension(self) -> wire.Suspension | None:
        """What the job waits for, where its function was told to end for that."""
        return self._memory.suspension if self._memory is not None else None

    def log(self, text: str, *, stream: str = "stdout") -> None:
        """Add to the job's log, which people follow while it runs."""
        lines: list[wire.LogLine] = []
        for line in text.split("\n"):
            # What has lone surrogates is no UTF-8, and a letter has at most four bytes.
            plain = line.encode("utf-8", "replace")
            if len(plain) <= MAX_LINE_BYTES:
                lines.append({"stream": stream, "line": plain.decode()})
                continue
            letters, size = plain.decode(), MAX_LINE_BYTES // 4
            lines += [{"stream": stream, "line": letters[at : at + size]} for at in range(0, len(letters), size)]
        with self._lock:
            if self._closed:
                return
            for each in lines:  # by its number a node knows one that it has written already
                self._count += 1
                each["n"] = self._count
            self._lines += lines
            self._bytes += _bytes(lines)
            self._drop()
        if self._noted is not None:
            self._noted()

    def _drop(self) -> None:
        """Drop the oldest lines where there are too many."""
        while len(self._lines) > KEPT_LINES or self._bytes > KEPT_BYTES:
            self._bytes -= _bytes([self._lines.popleft()])
            self._missing += 1

    def take(self) -> list[wire.LogLine]:
        """Take the first lines, as many as go with one request, behind the mark of those that are missing before them.

        What became of them is told by `sent` or `unsent` before the next are taken.
        """
        with self._lock:
            lines = _first(self._lines, MAX_LOG_LINES - bool(self._missing))
            for _ in lines:
                self._lines.popleft()
            self._bytes -= _bytes(lines)
            self._away, self._missing = (self._missing, lines), 0
            return _marked(*self._away)

    def sent(self) -> bool:
        """Forget the lines that were taken, and say whether there are more."""
        with self._lock:
            self._away = 0, []
            return bool(self._lines)

    def unsent(self) -> None:
        """Have the lines that were taken wait again."""
        with self._lock:
            (missing, lines), self._away = self._away, (0, [])
            if self._missing:  # lines behind them were dropped meanwhile: these are older
                self._missing += missing + len(lines)
                return
            self._missing = missing
            self._lines.extendleft(reversed(lines))
            self._bytes += _bytes(lines)
            self._drop()

    def shut(self) -> None:
        """End the log: nothing is added any more."""
        with self._lock:
            self._closed = True

    def overfull(self) -> bool:
        """Say whether more lines wait than go with the job's end."""
        with self._lock:
            return len(self._last()) < len(self._lines)

    def close(self) -> list[wire.LogLine]:
        """End the log and give the lines that were not sent.

        Where they are too many for the end of a job it is the last of them, behind a line that counts the missing ones.
        """
        self.shut()
        with self._lock:
            last = self._last()
            missing = self._missing + len(self._lines) - len(last)
            self._lines.clear()  # they go with the end, and nowhere else
            self._bytes = self._missing = 0
            return _marked(missing, last)

    def _last(self) -> list[wire.LogLine]:
        """Give the last lines, as many as go with an end behind the mark of those that are missing before them."""
        most = MAX_LOG_LINES
        if self._missing or len(self._lines) > most:
            most -= 1
        return _first(reversed(self._lines), most)[::-1]


def _marked(missing: int, lines: list[wire.LogLine]) -> list[wire.LogLine]:
    """Put lines behind one that says how many are missing before them."""
    if not missing:
        return lines
    what = "1 line is missing here: it" if missing == 1 else f"{missing} lines are missing here: they"
    mark: wire.LogLine = {"stream": "stderr", "line": f"{what} could not be sent"}
    if lines and "n" in lines[0]:
        mark["n"] = lines[0]["n"] - 1  # it stands for those before
    return [mark, *lines]


def _bytes(lines: list[wire.LogLine]) -> int:
    """Count lines as a node does."""
    return sum(len(line["line"].encode()) + LINE_COST for line in lines)


def _first(lines: Iterable[wire.LogLine], most: int) -> list[wire.LogLine]:
    """Give the first lines, as many as go with one request."""
    first: list[wire.LogLine] = []
    room = LINES_ROOM
    for line in islice(lines, most):
        room -= len(line["line"])
        if room < 0:
            break
        first.append(line)
    return first


def _of_job() -> Steps | None:
    """Give what `ramet.step` and its like remember by in a job of a worker."""
    job = _current.get()
    return job.steps if job is not None else None


durable.of_job = _of_job


def current_job() -> Job:
    """Give the job that the calling function runs as. Raises LookupError outside of jobs."""
    job = _current.get()
    if job is None:
        msg = "no job: current_job is for functions that a worker runs; see ramet.testing for tests"
        raise LookupError(msg)
    return job


class JobLogHandler(logging.Handler):
    """Puts what is logged while a job runs into the job's log, warnings and worse as stderr.

    Workers add one to the root logger; other records pass by.
    """

    def emit(self, record: logging.LogRecord) -> None:
        """Add a record to the log of the job that it was logged in."""
        job = _current.get()
        if job is None or (record.levelno < logging.WARNING and record.name.startswith(("httpx", "httpcore"))):
            return  # that each request is made is for nobody
        try:
            job.log(self.format(record), stream="stderr" if record.levelno >= logging.WARNING else "stdout")
        except Exception:
            self.handleError(record)


@contextlib.contextmanager
def job_logs(*, at_info: bool) -> Iterator[None]:
    """Put what jobs log into their logs until the end of a block; at_info: also where only warnings are wanted."""
    root, handler = logging.getLogger(), JobLogHandler()
    handler.setFormatter(logging.Formatter("%(message)s"))
    level = root.level
    if at_info and level > logging.INFO:
        root.setLevel(logging.INFO)
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
