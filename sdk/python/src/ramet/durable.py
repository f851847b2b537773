"""Durable scripts: steps that are remembered, and waits that no process has to live for.

import ramet

user = ramet.step("create", lambda: create("ada"))        # runs once, whatever happens
ramet.sleep("a day", 86400)                               # the process ends, and comes back to here
click = ramet.wait("clicked", timeout=3 * 86400)          # until somebody signals the job

After a crash, a sleep or a wait the script runs from its top again, and what it has remembered is given back without
being done a second time. So what stands outside of steps must come to the same each time: for what does not, there
are `now`, `random` and `uuid`.

In jobs this file is all that there is of the package, so it needs nothing but the standard library of Python 3.8.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time

TYPE_CHECKING = False  # typing is not loaded for this
if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime, timedelta
    from typing import Any, TypeVar

    T = TypeVar("T")

__all__ = [
    "Call",
    "ChannelError",
    "Decision",
    "Step",
    "StepFailed",
    "Steps",
    "Suspended",
    "TimedOut",
    "approval",
    "call",
    "gather",
    "now",
    "random",
    "sleep",
    "step",
    "uuid",
    "version",
    "wait",
]


class StepFailed(Exception):
    """A step has failed for good. That is remembered: it fails in later runs of the script, too."""


class TimedOut(Exception):
    """What was waited for did not come in time. That is remembered, too."""


class ChannelError(Exception):
    """The node refuses what was asked, and says why."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


class Lost(BaseException):
    """The node has ended this attempt at the job, or is gone: the script goes on from its top elsewhere.

    It is no Exception, so that nothing takes it for a failure of what was asked for.
    """


class Suspended(BaseException):
    """Ends a script that sleeps or waits; it runs again when that is over. Let it pass."""


class _Exit(Suspended, SystemExit):
    """Ends the process, too."""


class Step:
    """What a step's function may know of its step."""

    __slots__ = ("attempt", "key", "name")

    def __init__(self, name: str, key: str, attempt: int) -> None:
        self.name = name
        self.key = key
        """The same in all attempts: the idempotency key for whatever is called."""
        self.attempt = attempt
        """Counts the times that it was begun, from 1."""


class Call:
    """What a script has done by a job or a flow of its own: a blueprint, or a script."""

    __slots__ = ("name", "request")

    def __init__(
        self,
        name: str,
        blueprint: str = "",
        params: dict[str, Any] | None = None,
        *,
        version: int = 0,
        script: str = "",
        script_type: str = "",
        timeout: int = 0,
        retries: int = 0,
    ) -> None:
        self.name = name
        given = {
            "name": name,
            "blueprint": blueprint,
            "version": version,
            "script": script,
            "script_type": script_type,
            "timeout": timeout,
            "retries": retries,
        }
        self.request: dict[str, Any] = {key: value for key, value in given.items() if value}
        if params:
            self.request["params"] = {key: as_text(value) for key, value in params.items()}


class Decision:
    """What a person has decided. It is true where that is a yes."""

    __slots__ = ("answers", "approved", "by", "comment")

    def __init__(self, approved: bool, by: str, comment: str, answers: dict[str, str]) -> None:
        self.approved = approved
        self.by = by
        self.comment = comment
        self.answers = answers

    def __bool__(self) -> bool:
        return self.approved

    def __repr__(self) -> str:
        return f"Decision(approved={self.approved}, by={self.by!r}, comment={self.comment!r}, answers={self.answers!r})"


class Steps:
    """What a job remembers: the functions of this module are those of one that a script has.

    send gives the answer of the node to a request. It raises ChannelError, and Suspended.
    """

    def __init__(self, send: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        self._send = send
        self._doing = threading.local()  # .name is of the step that a thread is in

    def step(self, name: str, f: Callable[..., T], *, retries: int = 0, after: float | timedelta = 1.0) -> T:
        """Run f once, ever, and give what it returned."""
        request: dict[str, Any] = {"do": "step", "name": name}
        while True:
            answer = self._ask(request)
            if not answer["done"]:
                request["n"] = answer["n"]
                answer = self._do(Step(name, answer["key"], answer["attempt"]), answer["n"], f, retries, ms(after))
            if not answer.get("again"):  # else the node waits with it, or suspends the job if that takes long
                value: T = came_of(answer)
                return value

    def _do(self, step: Step, n: int, f: Callable[..., T], retries: int, after: int) -> dict[str, Any]:
        """Call a step's function, have remembered what came of it, and give that as the node would."""
        request: dict[str, Any] = {"do": "done", "name": step.name, "n": n}
        self._doing.name = step.name
        try:
            value, cause = plain(f(step) if takes_step(f) else f()), None
        except Exception as err:
            value, cause = None, err
        except BaseException:  # it was stopped, which is no end of the step
            self._doing.name = None
            self._ask({"do": "drop", "name": step.name, "n": n})
            raise
        self._doing.name = None
        if cause is None:
            try:
                return {**self._ask({**request, "value": value}), "value": value}
            except ChannelError as err:
                if err.kind != "limit":
                    raise
                cause = err  # it is done, and would be done again if this were not remembered
        failure = failed(cause, step, retries, after)
        return {**self._ask({**request, **failure}), "failure": failure["failure"], "cause": cause}

    def sleep(self, name: str, duration: float | timedelta | None = None, *, until: datetime | None = None) -> None:
        """Sleep for some time, or until a time."""
        self._ask(to_sleep(name, duration, until))

    def wait(
        self, name: str, *, signal: str = "", prerequisite: str = "", timeout: float | timedelta | None = None
    ) -> Any:
        """Wait for a signal to the job, and give its payload; or for a prerequisite."""
        return waited(name, self._ask(to_wait(name, signal, timeout, prerequisite)))

    def approval(
        self, name: str, text: str = "", *, timeout: float | timedelta | None = None, **asked: Any
    ) -> Decision:
        """Ask a person, and give what was decided."""
        return decided(name, self._ask(to_approval(name, text, timeout, asked)))

    def call(self, name: str, blueprint: str = "", params: dict[str, Any] | None = None, **what: Any) -> dict[str, str]:
        """Have a job or a flow of its own done, and give its result."""
        return self.gather([Call(name, blueprint, params, **what)])[0]

    def gather(self, calls: list[Call]) -> list[dict[str, str]]:
        """Have jobs and flows done side by side, and give their results in that order."""
        return results_of(self._ask(to_call(calls))) if calls else []

    def now(self) -> datetime:
        """Give the time."""
        return time_of(self._ask({"do": "now"}))

    def random(self) -> float:
        """Give a number from 0 to below 1."""
        return float(self._ask({"do": "random"})["value"])

    def uuid(self) -> str:
        """Give a UUID."""
        return str(self._ask({"do": "uuid"})["value"])

    def version(self, name: str, n: int) -> int:
        """Give the version of what name is that this job began with, at most n."""
        return int(self._ask({"do": "version", "name": name, "n": n})["value"])

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Ask the node, again while its board is away."""
        outside(request, getattr(self._doing, "name", None))
        pause = 0.1
        while True:
            try:
                return self._send(request)
            except ChannelError as err:
                if err.kind != "unavailable":
                    raise
            time.sleep(pause)
            pause = min(2 * pause, 5.0)


# What follows is what can be said of requests and answers without asking, for functions with async too.


class NotPlain(TypeError):
    """What a step has returned cannot be written as JSON."""


def came_of(answer: dict[str, Any]) -> Any:
    """Give what a step returned, or raise how it failed."""
    if "failure" in answer:
        raise StepFailed(answer["failure"]["text"]) from answer.get("cause")
    return answer.get("value")


def failed(cause: Exception, step: Step, retries: int, after: int) -> dict[str, Any]:
    """Say how a step failed, and when it is to be tried again."""
    end: dict[str, Any] = {"failure": {"kind": type(cause).__name__, "text": str(cause) or type(cause).__name__}}
    if step.attempt <= retries and not isinstance(cause, (ChannelError, NotPlain)):
        end["retry_after_ms"] = after << min(step.attempt - 1, 16)
    return end


def to_sleep(name: str, duration: float | timedelta | None, until: datetime | None) -> dict[str, Any]:
    """Ask to sleep."""
    if until is not None and duration is None:
        return {"do": "sleep", "name": name, "until_ms": round(until.timestamp() * 1000)}
    if duration is not None and until is None:
        return {"do": "sleep", "name": name, "for_ms": ms(duration)}
    msg = f"sleep {name!r}: say for how long, or until when"
    raise TypeError(msg)


def to_wait(name: str, signal: str, timeout: float | timedelta | None, prerequisite: str = "") -> dict[str, Any]:
    """Ask to wait."""
    request: dict[str, Any] = {"do": "wait", "name": name}
    if signal:
        request["signal"] = signal
    if prerequisite:
        request["prerequisite"] = prerequisite
    if timeout is not None:
        request["timeout_ms"] = ms(timeout)
    return request


def to_approval(name: str, text: str, timeout: float | timedelta | None, asked: dict[str, Any]) -> dict[str, Any]:
    """Ask to wait for what a person decides."""
    return {**to_wait(name, "", timeout), "approval": {"text": text, **asked}}


def to_call(calls: list[Call]) -> dict[str, Any]:
    """Ask for jobs and flows."""
    return {"do": "call", "calls": [one.request for one in calls]}


def waited(name: str, answer: dict[str, Any]) -> Any:
    """Give what has come, or raise that it has not, or never will."""
    if answer.get("timed_out"):
        msg = f"wait {name!r}: what it waits for did not come in time"
        raise TimedOut(msg)
    return came_of(answer)


def decided(name: str, answer: dict[str, Any]) -> Decision:
    """Give what a person has decided, or raise that nobody has."""
    return Decision(**waited(name, answer))


def results_of(answer: dict[str, Any]) -> list[dict[str, str]]:
    """Give what children have left, or raise how the first of them failed that did."""
    return [came_of(end) for end in answer["ends"]]


def as_text(value: Any) -> str:
    """Give a param as a text: all else than a text as JSON."""
    return value if isinstance(value, str) else json.dumps(value)


def time_of(answer: dict[str, Any]) -> datetime:
    """Read a time."""
    from datetime import datetime, timezone

    return datetime.fromtimestamp(answer["value"] / 1000, timezone.utc)


def outside(request: dict[str, Any], inside: str | None) -> None:
    """Refuse what is asked inside of a step: it would wait for itself, for a step is remembered as a whole."""
    if inside is not None:
        what = f"{request['do']} inside of step {inside!r}"
        msg = f"{what}: what a step does cannot have steps, sleeps and waits of its own"
        raise RuntimeError(msg)


def plain(value: Any) -> Any:
    """Give a value as it comes back from JSON, so that a script finds the same in its first run and in later ones."""
    if value is None or type(value) in (bool, int):
        return value  # it is its own copy
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as err:
        msg = f"what the step has returned cannot be written as JSON: {err}"
        raise NotPlain(msg) from err


def takes_step(f: Callable[..., Any]) -> bool:
    """Tell whether a function has a parameter that must be given."""
    code = getattr(getattr(f, "__func__", f), "__code__", None)
    if code is None:
        return False
    bound = 1 if hasattr(f, "__self__") else 0
    return bool(code.co_argcount - bound - len(f.__defaults__ or ()) > 0)


def ms(span: float | timedelta) -> int:
    """Give a time span, in seconds or as a timedelta, in milliseconds."""
    seconds = span.total_seconds() if hasattr(span, "total_seconds") else span
    return round(seconds * 1000)


class _Connection:
    """A connection to the node, of one thread: while one waits another goes on."""

    def __init__(self, to: socket.socket) -> None:
        self.process = os.getpid()
        self.socket = to

    def send(self, request: dict[str, Any]) -> dict[str, Any]:
        msg = "the node has ended this attempt at the job"
        try:
            self.socket.sendall(_encode(request).encode() + b"\n")
            line = self.receive()
        except OSError as err:
            raise Lost(msg) from err
        if not line:
            raise Lost(msg)
        answer: dict[str, Any] = _decode(line)[0]
        if "error" in answer:
            if answer["error"]["kind"] == "lost":
                raise Lost(msg)
            raise ChannelError(answer["error"]["kind"], answer["error"]["text"])
        if answer.get("suspend"):
            raise _Exit
        return answer

    def receive(self) -> str:
        """Give the one line that answers, and nothing when the node has gone."""
        parts = [self.socket.recv(4096)]
        while parts[-1] and not parts[-1].endswith(b"\n"):
            parts.append(self.socket.recv(1 << 16))
        return b"".join(parts).decode() if parts[-1] else ""


# A forked interpreter pays for each page that it is the first to write to, and so for each object of the library that
# it touches. So these are made once, and a connection has no file around it.
_encode = json.JSONEncoder(separators=(",", ":")).encode
_decode = json.JSONDecoder().raw_decode

_connections = threading.local()


def _send(request: dict[str, Any]) -> dict[str, Any]:
    """Ask the node over the channel of this job."""
    connection: _Connection | None = getattr(_connections, "own", None)
    if connection is None or connection.process != os.getpid():
        path = os.environ.get("RAMET_CHANNEL")
        if not path:
            msg = f"ramet.{request['do']} is for jobs that a node runs, and $RAMET_CHANNEL is not set here"
            raise RuntimeError(msg)
        connection = _connections.own = _Connection(_connect(path))
    return connection.send(request)


def _connect(path: str) -> socket.socket:
    if len(os.fsencode(path)) > 100:  # it does not fit into an address
        path = min(path, os.path.relpath(path), key=len)
    to = socket.socket(socket.AF_UNIX)
    to.connect(path)
    return to


_script = Steps(_send)
of_job: Callable[[], Steps | None] = lambda: None  # noqa: E731 - set by the SDK: functions of workers have others


def _steps() -> Steps:
    """Give what the calling function remembers by."""
    return of_job() or _script


def step(name: str, f: Callable[..., T], *, retries: int = 0, after: float | timedelta = 1.0) -> T:
    """Run f once, ever, and give what it returned, to later runs of the script too. JSON must be able to carry it.

    f is called with the Step if it takes something. When it raises, it is tried again as often as retries say, first
    after that time (in seconds), then each time after twice as long. When it has failed for good, that is remembered,
    and StepFailed raised.
    """
    return _steps().step(name, f, retries=retries, after=after)


def sleep(name: str, duration: float | timedelta | None = None, *, until: datetime | None = None) -> None:
    """Sleep for some time (in seconds), or until a time. Unless that is short, the process ends meanwhile."""
    _steps().sleep(name, duration, until=until)


def wait(name: str, *, signal: str = "", prerequisite: str = "", timeout: float | timedelta | None = None) -> Any:
    """Wait for a signal to the job, one of the same name unless signal says another, and give its payload.

    With a prerequisite, such as "file:in.csv" or "job:12:7", it waits until that is met, and gives True. The process
    ends meanwhile. Raises TimedOut when nothing comes in that time (in seconds), and StepFailed where a prerequisite
    can never be met.
    """
    return _steps().wait(name, signal=signal, prerequisite=prerequisite, timeout=timeout)


def approval(name: str, text: str = "", *, timeout: float | timedelta | None = None, **asked: Any) -> Decision:
    """Ask a person, and give what was decided.

    asked is what an approval of a flow may have: approvers, not_submitter, answers, notice, on_deadline. The process
    ends meanwhile. Raises TimedOut when nobody has decided in that time (in seconds).
    """
    return _steps().approval(name, text, timeout=timeout, **asked)


def call(name: str, blueprint: str = "", params: dict[str, Any] | None = None, **what: Any) -> dict[str, str]:
    """Have a flow of a blueprint done, or with script= a job of that script, and give its result.

    It is made once, whatever happens, and belongs to this job: it is cancelled with it. The process ends meanwhile.
    what is what a Call may have. Raises StepFailed when it has ended badly, which is remembered.
    """
    return _steps().call(name, blueprint, params, **what)


def gather(calls: list[Call]) -> list[dict[str, str]]:
    """Have jobs and flows done side by side, and give their results in that order, when all have ended.

    Raises StepFailed for the first of them that has ended badly.
    """
    return _steps().gather(calls)


def now() -> datetime:
    """Give the time, with its zone: the same in later runs of the script."""
    return _steps().now()


def random() -> float:
    """Give a number from 0 to below 1: the same in later runs of the script."""
    return _steps().random()


def uuid() -> str:
    """Give a UUID: the same in later runs of the script."""
    return _steps().uuid()


def version(name: str, n: int) -> int:
    """Say that what name is has version n in this script; give the one that this job began with.

    It is 0 where the job came past here before there was one. So a script that was changed goes on
    with each job as that began.
    """
    return _steps().version(name, n)
