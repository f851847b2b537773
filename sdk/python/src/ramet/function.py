"""Functions as jobs: how they are submitted, and what comes of calling them."""

from __future__ import annotations

import asyncio
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, cast

from . import convert
from .errors import ApiError, Cause, Fail, RetryAfter, Stopped
from .wire import MAX_RESULT_BYTES, MAX_RESULT_KEYS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
    from datetime import datetime

    from . import wire
    from .app import App
    from .calls import JobKey
    from .job import Job

ERROR_ROOM = 8 << 10
"""How many letters of an error are sent; a node keeps fewer."""

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, kw_only=True)
class Options:
    """How jobs of a function are submitted."""

    retries: int | None = None
    """How often it is tried again. Default: not at all."""
    retry: wire.Retry | None = None
    """Which ends are tried again, and after what pauses, in seconds: ``{"delay": 60, "factor": 3, "on": ["failed"]}``.

    Default: all, with the node's pauses. With ``max`` it has what ``retries`` says, too.
    """
    timeout: float | None = None
    """How long an attempt may take, in whole seconds. Default: the node's."""
    priority: int | None = None
    """1 to 9, tried highest first."""
    not_before: datetime | None = None
    """When the first attempt may begin. Default: at once."""
    env: Mapping[str, str] | None = None
    """Variables, which are kept from those who may not read them."""
    affinity: Mapping[str, str] | None = None
    """Labels that a worker must have."""
    depends: Sequence[JobKey] | None = None
    """Jobs that must have ended well before, of the same actor."""
    prerequisites: Sequence[str] | None = None
    """Conditions that must be met before."""
    prerequisite_timeout: float | None = None
    """How long these may take, in whole seconds. Default: the node's."""
    for_runner: int | None = None
    """The one runner that may take it, by its number."""
    at: str | None = None
    """Another context that is to run it: ``7`` here, ``7@acme`` at a peer."""
    id: int | None = None
    """Its number. Default: the next free one."""
    trace_id: str | None = None
    key: str | None = None
    """The idempotency key: repeated under it within 24 hours a submit makes nothing more, and another is a Conflict."""

    def job(self, script_type: str, script: str) -> wire.JobInput:
        """Make the job that is submitted."""
        job: dict[str, Any] = {"script_type": script_type, "script": script}
        for name in ("id", "retries", "priority", "for_runner", "at", "trace_id"):
            if (value := getattr(self, name)) is not None:
                job[name] = value
        for name in ("timeout", "prerequisite_timeout"):
            if (value := getattr(self, name)) is not None:
                job[name] = max(1, round(value))
        if self.retry:
            job["retry"] = dict(self.retry)
        if self.not_before is not None:
            job["not_before"] = round(self.not_before.timestamp() * 1000)
        if self.env:
            job["env_vars"] = dict(self.env)
        if self.affinity:
            job["affinity"] = dict(self.affinity)
        if self.depends:
            job["dependends"] = [k.id for k in self.depends]
        if self.prerequisites:
            job["prerequisites"] = list(self.prerequisites)
        return cast("wire.JobInput", job)


class Handle:
    """A job that was submitted."""

    def __init__(self, app: App, key: JobKey) -> None:
        self._app = app
        self.key = key

    def __repr__(self) -> str:
        """Say which job it is."""
        return f"<Handle {self.key}>"

    def show(self) -> wire.Job:
        """Read the job as it stands."""
        return self._app.client.show(self.key)

    def wait(self, timeout: float | None = None) -> wire.Job:
        """Wait until the job has ended, and return it. Raises TimeoutError."""
        return self._app.client.wait(self.key, timeout)

    def result(self, timeout: float | None = None) -> dict[str, str]:
        """Wait for the job's result. Raises JobFailed when it has ended in error, and TimeoutError."""
        return self._app.client.result(self.key, timeout)

    def logs(self) -> Iterator[wire.Log]:
        """Follow the job's log until it has ended."""
        return self._app.client.logs(self.key)

    def log_page(self, start: int = 0) -> list[wire.Log]:
        """Read what the job has logged, from a line on."""
        return self._app.client.log_page(self.key, start)

    def cancel(self) -> wire.Job:
        """End the job if it waits; tell it to stop if it runs."""
        return self._app.client.cancel(self.key)

    def retry(self) -> wire.Job:
        """Start the job again, which has ended in error."""
        return self._app.client.retry(self.key)

    def signal(self, name: str, payload: Any = None) -> wire.Job:
        """Send a signal to the job, which waits for one of that name, now or later; its wait gives the payload."""
        return self._app.client.signal(self.key, name, payload)

    def explain(self) -> wire.JobExplanation:
        """Say what the job waits for, who holds it, and what will wake it."""
        return self._app.client.explain(self.key)


class AsyncHandle:
    """A job that was submitted, for asyncio."""

    def __init__(self, app: App, key: JobKey) -> None:
        self._app = app
        self.key = key

    def __repr__(self) -> str:
        """Say which job it is."""
        return f"<AsyncHandle {self.key}>"

    async def show(self) -> wire.Job:
        """Read the job as it stands."""
        return await self._app.aclient.show(self.key)

    async def wait(self, timeout: float | None = None) -> wire.Job:
        """Wait until the job has ended, and return it. Raises TimeoutError."""
        return await self._app.aclient.wait(self.key, timeout)

    async def result(self, timeout: float | None = None) -> dict[str, str]:
        """Wait for the job's result. Raises JobFailed when it has ended in error, and TimeoutError."""
        return await self._app.aclient.result(self.key, timeout)

    def logs(self) -> AsyncIterator[wire.Log]:
        """Follow the job's log until it has ended."""
        return self._app.aclient.logs(self.key)

    async def log_page(self, start: int = 0) -> list[wire.Log]:
        """Read what the job has logged, from a line on."""
        return await self._app.aclient.log_page(self.key, start)

    async def cancel(self) -> wire.Job:
        """End the job if it waits; tell it to stop if it runs."""
        return await self._app.aclient.cancel(self.key)

    async def retry(self) -> wire.Job:
        """Start the job again, which has ended in error."""
        return await self._app.aclient.retry(self.key)

    async def signal(self, name: str, payload: Any = None) -> wire.Job:
        """Send a signal to the job, which waits for one of that name, now or later; its wait gives the payload."""
        return await self._app.aclient.signal(self.key, name, payload)

    async def explain(self) -> wire.JobExplanation:
        """Say what the job waits for, who holds it, and what will wake it."""
        return await self._app.aclient.explain(self.key)


class Function(Generic[P, R]):
    """A function that can be submitted as a job. Called, it is the function itself."""

    def __init__(self, app: App, name: str, function: Callable[P, R], options: Options) -> None:
        self._app = app
        self.name = name
        self.function = function
        self.options = options
        self.signature = convert.Signature(function)
        self.is_async = asyncio.iscoroutinefunction(function)
        self.__name__ = getattr(function, "__name__", name)
        self.__doc__ = function.__doc__
        self.__wrapped__ = function

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function here and now."""
        return self.function(*args, **kwargs)

    def using(self, **options: Any) -> Function[P, R]:
        """Give the same function whose jobs are submitted with other options."""
        merged = {**{f: getattr(self.options, f) for f in Options.__dataclass_fields__}, **options}
        return Function(self._app, self.name, self.function, Options(**merged))

    def job(self, *args: P.args, **kwargs: P.kwargs) -> wire.JobInput:
        """Make the job without submitting it: for App.submit_many."""
        return self.options.job(self.name, self.signature.write(args, kwargs))

    def submit(self, *args: P.args, **kwargs: P.kwargs) -> Handle:
        """Submit a job that calls the function with these arguments."""
        return Handle(self._app, self._app.send_job(self.job(*args, **kwargs), self.options.key))

    async def asubmit(self, *args: P.args, **kwargs: P.kwargs) -> AsyncHandle:
        """Submit a job that calls the function with these arguments, from asyncio."""
        return AsyncHandle(self._app, await self._app.asend_job(self.job(*args, **kwargs), self.options.key))


@dataclass
class Outcome:
    """How a function ended."""

    verdict: wire.Verdict = "succeeded"
    result: dict[str, str] | None = None
    error: str = ""
    final: bool = False
    after: float = 0.0
    """The least time before the next attempt, in seconds."""
    suspension: wire.Suspension | None = None
    """What the job waits for."""

    def end(self, job: Job) -> wire.AttemptEnd:
        """Write it as the end of an attempt."""
        held = job.held
        end: wire.AttemptEnd = {
            "caller": held["caller"],
            "id": held["id"],
            "attempt": held["attempt"],
            "verdict": self.verdict,
        }
        if "started_ms" in held:
            end["started_ms"] = held["started_ms"]
        if self.result:
            end["result"] = self.result
        if self.error:
            end["error"] = self.error[:ERROR_ROOM]
        if self.final:
            end["final"] = True
        if self.suspension is not None:
            end["suspension"] = self.suspension
        if self.after > 0:
            end["after_ms"] = round(self.after * 1000)
        return end


def returned(value: Any, job: Job) -> Outcome:
    """Say what a value that a function returned makes of its job."""
    if job.suspension is not None:
        return suspended(job)
    try:
        result = convert.result_of(value)
    except (TypeError, ValueError, RecursionError) as err:
        return Outcome("failed", error=f"the result cannot be written as JSON: {err}", final=True)
    if result is not None:
        size = len(convert.dumps(result).encode("utf-8", "replace"))
        if size > MAX_RESULT_BYTES:
            text = (
                f"the result has {size} bytes as JSON, the limit is {MAX_RESULT_BYTES}: store it and return its place"
            )
            return Outcome("failed", error=text, final=True)
        if len(result) > MAX_RESULT_KEYS:
            return Outcome("failed", error=f"the result has more than {MAX_RESULT_KEYS} keys", final=True)
    return Outcome(result=result)


def raised(err: BaseException, job: Job) -> Outcome:
    """Say what an exception that a function raised makes of its job."""
    text = one_line(err)
    if job.cause is Cause.TIMEOUT:
        return Outcome("timeout", error=text)
    if job.cause is not None:
        return Outcome("stopped", error=text)
    if job.suspension is not None:
        return suspended(job)
    if isinstance(err, Fail):
        return Outcome("failed", error=text, final=True)
    if isinstance(err, RetryAfter):
        return Outcome("failed", error=text, after=err.after)
    job.log("".join(traceback.format_exception(type(err), err, err.__traceback__)).rstrip("\n"), stream="stderr")
    return Outcome("errored", error=text)


def suspended(job: Job) -> Outcome:
    """End a function that was told so: whatever came of it, it is called again when the job goes on."""
    return Outcome("suspended", suspension=job.suspension)


def unread(err: Exception) -> Outcome:
    """Say what arguments that cannot be read make of their job: they would not be better the next time."""
    return Outcome("failed", error=one_line(err), final=True)


def one_line(err: BaseException) -> str:
    """Write an exception for people, in a line."""
    text = " ".join(str(err).split())
    if isinstance(err, asyncio.CancelledError) and not text:
        text = "it was stopped"
    plain = isinstance(err, (Fail, RetryAfter, Stopped, ApiError, asyncio.CancelledError))
    text = text if plain and text else f"{type(err).__name__}: {text}".rstrip(": ")
    return text.encode("utf-8", "replace").decode()[:2000]
