"""Clients of a node: one for threads, one for asyncio; the same operations in both."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from datetime import timezone
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

import httpx

from . import errors, wire
from .calls import Call, Calls, JobKey, Tagged, pause
from .place import Place
from .process import PerProcess

if TYPE_CHECKING:
    from typing_extensions import Unpack

T = TypeVar("T")
R = TypeVar("R")
MAX_RETRY_AFTER = 30.0
"""How long a node may have its callers wait, in seconds."""
STREAM_SILENCE = 60.0
"""How long a stream may be silent, in seconds; a node writes something every 15."""


def _refusal(answer: httpx.Response) -> errors.ApiError:
    try:
        problem = errors.of_problem(answer.json(), answer.status_code)
    except ValueError:
        problem = errors.of_problem(None, answer.status_code)
    problem.retry_after = _retry_after(answer.headers.get("Retry-After", ""), time.time())
    return problem


def _retry_after(text: str, now: float) -> float:
    """Read a header Retry-After as RFC 9110 has it, in seconds: a whole number, or a date, which counts from now.

    What is neither asks for no time.
    """
    text = text.strip(" \t")
    if re.fullmatch("[0-9]+", text):
        return min(float(text), MAX_RETRY_AFTER)
    try:
        at = parsedate_to_datetime(text).replace(tzinfo=timezone.utc)  # dates of HTTP are of GMT, said or not
    except (ValueError, OverflowError):
        return 0.0
    return min(max(at.timestamp() - now, 0.0), MAX_RETRY_AFTER)


def _read(call: Call[T], answer: httpx.Response) -> T:
    if not answer.is_success:
        raise _refusal(answer)
    try:
        return call.read(json.loads(answer.content))
    except (ValueError, LookupError, TypeError) as err:
        msg = f"{call.method} {call.path}: the answer cannot be read; is it a Ramet node of this version? ({err})"
        raise errors.RametError(msg) from err


class _Events:
    """The events of a stream, from its lines."""

    def __init__(self) -> None:
        self.last = ""  # the id of the last event that came whole
        self._id = self._name = self._data = ""

    def begin(self) -> dict[str, str]:
        """Forget half an event, and give the headers by which a stream goes on where it broke."""
        self._id, self._name, self._data = self.last, "", ""
        return {"Accept": "text/event-stream", **({"Last-Event-ID": self.last} if self.last else {})}

    def line(self, line: str) -> tuple[str, Any] | None:
        """Take a line, and give the event that it ends."""
        if line:
            field, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if field == "event":
                self._name = value
            elif field == "data":
                self._data += value
            elif field == "id":
                self._id = value
            return None
        name, data, self._name, self._data = self._name, self._data, "", ""
        self.last = self._id
        if not data:
            return None
        if name == "error":
            raise errors.of_problem(json.loads(data))
        return name, json.loads(data)


def _ended(job: wire.Job) -> bool:
    return job["status"] in ("finished", "error")


def _result(job: wire.Job) -> dict[str, str]:
    if job["status"] != "finished":
        key = JobKey(job["caller_id"], job["id"])
        raise errors.JobFailed(str(key), job.get("reason", ""), job.get("error", ""))
    return job["result"]


def _late(key: JobKey, timeout: float) -> TimeoutError:
    return TimeoutError(f"{key} has not ended after {timeout} s")


def _left(end: float | None) -> float:
    return 60.0 if end is None else end - time.monotonic()


def _query(filters: Mapping[str, Any]) -> dict[str, str | int]:
    return {name: value for name, value in filters.items() if value is not None}


def _goes_on(bulk: wire.Bulk) -> bool:
    return bulk["status"] == "running"


def _late_bulk(number: int, timeout: float) -> TimeoutError:
    return TimeoutError(f"bulk operation {number} has not ended after {timeout} s")


def _tagged(call: Call[T], answer: httpx.Response) -> Tagged[T]:
    return Tagged(_read(call, answer), answer.headers.get("ETag", ""))


def _hurt(submitted: wire.Submitted) -> JobKey | errors.ApiError:
    if "error" in submitted:
        return errors.of_problem(submitted["error"])
    return JobKey.parse(submitted["key"])


class Client:
    """A client for programs without asyncio. It may be used by many threads at once."""

    def __init__(self, place: Place, context: int) -> None:
        self.calls = Calls(context)
        self._place = place
        self._pool = PerProcess(self._connections)

    def _connections(self) -> httpx.Client:
        place = self._place
        limits = httpx.Limits(max_connections=64 * len(place.nodes))
        transport = httpx.HTTPTransport(uds=place.socket, limits=limits) if place.socket else None
        return httpx.Client(transport=transport, limits=limits)

    @property
    def _http(self) -> httpx.Client:
        return self._pool.get()

    def send(self, call: Call[T]) -> T:
        """Make a request, again if it may be repeated and nobody knows what became of it."""
        return self._send(call, _read)

    def _send(self, call: Call[T], read: Callable[[Call[T], httpx.Response], R]) -> R:
        failures = 0
        while True:
            try:
                with self._place.turn() as node:
                    answer = self._http.request(
                        call.method,
                        node.url + call.path,
                        params=call.query,
                        content=call.body,
                        headers=node.headers(call),
                        timeout=self._place.timeout(call.timeout),
                        extensions={"trace": node.traced} if self._place.several else None,
                    )
                    return read(call, answer)
            except (errors.Unreachable, errors.ApiError) as err:
                problem = err
            failures += 1
            if not call.again(problem, failures):
                raise problem
            time.sleep(pause(failures, problem.retry_after))

    def register(self, types: Sequence[str]) -> None:
        """Have jobs be of types, before the first worker has asked for one."""
        self.send(self.calls.register(types))

    def submit(self, job: wire.JobInput, *, key: str | None = None) -> JobKey:
        """Submit a job. With an idempotency key it may be repeated, and is when no answer comes."""
        return self.send(self.calls.submit(job, key))

    def submit_many(self, jobs: Sequence[wire.JobInput], *, key: str | None = None) -> list[JobKey | errors.ApiError]:
        """Submit many jobs at once; each is answered alone, by its key or by why it was refused."""
        return [_hurt(s) for s in self.send(self.calls.submit_many(jobs, key))]

    def show(self, key: JobKey) -> wire.Job:
        """Read a job."""
        return self.send(self.calls.show(key))

    def wait(self, key: JobKey, timeout: float | None = None) -> wire.Job:
        """Wait until a job has ended, and return it. Raises TimeoutError."""
        end = None if timeout is None else time.monotonic() + timeout
        while not _ended(job := self.send(self.calls.wait(key, _left(end)))):
            if timeout is not None and _left(end) <= 0:
                raise _late(key, timeout)
        return job

    def result(self, key: JobKey, timeout: float | None = None) -> dict[str, str]:
        """Wait for the result of a job. Raises JobFailed when it has ended in error, and TimeoutError."""
        return _result(self.wait(key, timeout))

    def log_page(self, key: JobKey, start: int = 0) -> list[wire.Log]:
        """Read the lines that a job has logged, from a line on: for those who poll."""
        return self.send(self.calls.logs(key, start))["logs"]

    def logs(self, key: JobKey) -> Iterator[wire.Log]:
        """Follow the log of a job until it has ended. A stream that breaks goes on where it broke."""
        call = Call("GET", self.calls.job(key) + "/logs", lambda a: a)
        events, failures = _Events(), 0
        while True:
            try:
                for name, data in self._stream(call, events):
                    failures = 0
                    if name == "end":
                        return
                    if name == "log":
                        yield data
                problem: errors.RametError = errors.Unreachable("the stream ended before the job did")
            except (errors.Unreachable, errors.Unavailable, errors.Exhausted) as err:
                problem = err
            failures += 1
            if not call.again(problem, failures):
                raise problem
            time.sleep(pause(failures, problem.retry_after))

    def _stream(self, call: Call[Any], events: _Events) -> Iterator[tuple[str, Any]]:
        with (
            self._place.turn() as node,
            self._http.stream(
                call.method,
                node.url + call.path,
                headers={**node.headers(call), **events.begin()},
                timeout=self._place.timeout(STREAM_SILENCE),
                extensions={"trace": node.traced} if self._place.several else None,
            ) as answer,
        ):
            if not answer.is_success:
                answer.read()
                raise _refusal(answer)
            for line in answer.iter_lines():
                if event := events.line(line):
                    yield event

    def list(self, **query: Unpack[wire.JobQuery]) -> Iterator[wire.Job]:
        """List jobs, page by page; without scripts, environment and results."""
        asked = _query(query)
        while True:
            page = self.send(self.calls.list_jobs(asked))
            yield from page["jobs"]
            if not page.get("next"):
                return
            asked["cursor"] = page["next"]

    def cancel(self, key: JobKey) -> wire.Job:
        """End a job that waits; tell one that runs to stop."""
        return self.send(self.calls.act(key, "cancel"))

    def retry(self, key: JobKey) -> wire.Job:
        """Start a job again that ended in error."""
        return self.send(self.calls.act(key, "retry"))

    def signal(self, key: JobKey, name: str, payload: Any = None) -> wire.Job:
        """Send a signal to a job that waits for one of that name, now or later; its wait gives the payload.

        It is not repeated by itself when no answer comes: two would be two.
        """
        return self.send(self.calls.signal(key, name, payload))

    def explain(self, key: JobKey) -> wire.JobExplanation:
        """Say what a job waits for, who holds it, and what will wake it."""
        return self.send(self.calls.explain(key))

    def cancel_all(self, *, dry_run: bool = False, **filter: Unpack[wire.JobFilter]) -> wire.Bulk:  # noqa: A002
        """Begin to cancel all jobs that a filter fits and that have not ended; with dry_run, count them.

        It goes on at the nodes; wait_bulk waits for its end.
        """
        return self.send(self.calls.all_jobs("cancel", dry_run, _query(filter)))

    def retry_all(self, *, dry_run: bool = False, **filter: Unpack[wire.JobFilter]) -> wire.Bulk:  # noqa: A002
        """Begin to start all jobs again that a filter fits and that ended in error; with dry_run, count them."""
        return self.send(self.calls.all_jobs("retry", dry_run, _query(filter)))

    def bulk(self, number: int) -> wire.Bulk:
        """Read how far a bulk operation has come."""
        return self.send(self.calls.bulk(number))

    def wait_bulk(self, number: int, timeout: float | None = None) -> wire.Bulk:
        """Wait until a bulk operation has ended, and return it. Raises TimeoutError."""
        end = None if timeout is None else time.monotonic() + timeout
        while _goes_on(bulk := self.send(self.calls.wait_bulk(number, _left(end)))):
            if timeout is not None and _left(end) <= 0:
                raise _late_bulk(number, timeout)
        return bulk

    def cancel_bulk(self, number: int) -> wire.Bulk:
        """End a bulk operation; what was done stays done."""
        return self.send(self.calls.cancel_bulk(number))

    def read(self, path: str) -> Tagged[Any]:
        """Read something of the context by its path, such as /schedules/nightly, with its tag."""
        return self._send(self.calls.read(path), _tagged)

    def change(
        self, method: str, path: str, body: Any = None, *, if_match: str | None = None, if_none: bool = False
    ) -> Any:
        """Change something of the context by its path.

        With `if_match`, the tag of what was read, it is done only while that is so; with `if_none` only where there is
        no such thing yet. Else Conflict is raised, and nothing is done.
        """
        return self.send(self.calls.change(method, path, body, if_match, if_none))

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Client:
        """Use it until the end of a block."""
        return self

    def __exit__(self, kind: type[BaseException] | None, err: BaseException | None, tb: TracebackType | None) -> None:
        """Close it."""
        self.close()


class AsyncClient:
    """A client for one event loop."""

    def __init__(self, place: Place, context: int) -> None:
        self.calls = Calls(context)
        self._place = place
        self._pool = PerProcess(self._connections)

    def _connections(self) -> httpx.AsyncClient:
        place = self._place
        limits = httpx.Limits(max_connections=64 * len(place.nodes))
        transport = httpx.AsyncHTTPTransport(uds=place.socket, limits=limits) if place.socket else None
        return httpx.AsyncClient(transport=transport, limits=limits)

    @property
    def _http(self) -> httpx.AsyncClient:
        return self._pool.get()

    async def send(self, call: Call[T]) -> T:
        """Make a request, again if it may be repeated and nobody knows what became of it."""
        return await self._send(call, _read)

    async def _send(self, call: Call[T], read: Callable[[Call[T], httpx.Response], R]) -> R:
        failures = 0
        while True:
            try:
                with self._place.turn() as node:
                    answer = await self._http.request(
                        call.method,
                        node.url + call.path,
                        params=call.query,
                        content=call.body,
                        headers=node.headers(call),
                        timeout=self._place.timeout(call.timeout),
                        extensions={"trace": node.atraced} if self._place.several else None,
                    )
                    return read(call, answer)
            except (errors.Unreachable, errors.ApiError) as err:
                problem = err
            failures += 1
            if not call.again(problem, failures):
                raise problem
            await asyncio.sleep(pause(failures, problem.retry_after))

    async def register(self, types: Sequence[str]) -> None:
        """Have jobs be of types, before the first worker has asked for one."""
        await self.send(self.calls.register(types))

    async def submit(self, job: wire.JobInput, *, key: str | None = None) -> JobKey:
        """Submit a job. With an idempotency key it may be repeated, and is when no answer comes."""
        return await self.send(self.calls.submit(job, key))

    async def submit_many(
        self, jobs: Sequence[wire.JobInput], *, key: str | None = None
    ) -> list[JobKey | errors.ApiError]:
        """Submit many jobs at once; each is answered alone, by its key or by why it was refused."""
        return [_hurt(s) for s in await self.send(self.calls.submit_many(jobs, key))]

    async def show(self, key: JobKey) -> wire.Job:
        """Read a job."""
        return await self.send(self.calls.show(key))

    async def wait(self, key: JobKey, timeout: float | None = None) -> wire.Job:
        """Wait until a job has ended, and return it. Raises TimeoutError."""
        end = None if timeout is None else time.monotonic() + timeout
        while not _ended(job := await self.send(self.calls.wait(key, _left(end)))):
            if timeout is not None and _left(end) <= 0:
                raise _late(key, timeout)
        return job

    async def result(self, key: JobKey, timeout: float | None = None) -> dict[str, str]:
        """Wait for the result of a job. Raises JobFailed when it has ended in error, and TimeoutError."""
        return _result(await self.wait(key, timeout))

    async def log_page(self, key: JobKey, start: int = 0) -> list[wire.Log]:
        """Read the lines that a job has logged, from a line on: for those who poll."""
        return (await self.send(self.calls.logs(key, start)))["logs"]

    async def logs(self, key: JobKey) -> AsyncIterator[wire.Log]:
        """Follow the log of a job until it has ended. A stream that breaks goes on where it broke."""
        call = Call("GET", self.calls.job(key) + "/logs", lambda a: a)
        events, failures = _Events(), 0
        while True:
            try:
                async for name, data in self._stream(call, events):
                    failures = 0
                    if name == "end":
                        return
                    if name == "log":
                        yield data
                problem: errors.RametError = errors.Unreachable("the stream ended before the job did")
            except (errors.Unreachable, errors.Unavailable, errors.Exhausted) as err:
                problem = err
            failures += 1
            if not call.again(problem, failures):
                raise problem
            await asyncio.sleep(pause(failures, problem.retry_after))

    async def _stream(self, call: Call[Any], events: _Events) -> AsyncIterator[tuple[str, Any]]:
        with self._place.turn() as node:
            async with self._http.stream(
                call.method,
                node.url + call.path,
                headers={**node.headers(call), **events.begin()},
                timeout=self._place.timeout(STREAM_SILENCE),
                extensions={"trace": node.atraced} if self._place.several else None,
            ) as answer:
                if not answer.is_success:
                    await answer.aread()
                    raise _refusal(answer)
                async for line in answer.aiter_lines():
                    if event := events.line(line):
                        yield event

    async def list(self, **query: Unpack[wire.JobQuery]) -> AsyncIterator[wire.Job]:
        """List jobs, page by page; without scripts, environment and results."""
        asked = _query(query)
        while True:
            page = await self.send(self.calls.list_jobs(asked))
            for job in page["jobs"]:
                yield job
            if not page.get("next"):
                return
            asked["cursor"] = page["next"]

    async def cancel(self, key: JobKey) -> wire.Job:
        """End a job that waits; tell one that runs to stop."""
        return await self.send(self.calls.act(key, "cancel"))

    async def retry(self, key: JobKey) -> wire.Job:
        """Start a job again that ended in error."""
        return await self.send(self.calls.act(key, "retry"))

    async def signal(self, key: JobKey, name: str, payload: Any = None) -> wire.Job:
        """Send a signal to a job that waits for one of that name, now or later; its wait gives the payload.

        It is not repeated by itself when no answer comes: two would be two.
        """
        return await self.send(self.calls.signal(key, name, payload))

    async def explain(self, key: JobKey) -> wire.JobExplanation:
        """Say what a job waits for, who holds it, and what will wake it."""
        return await self.send(self.calls.explain(key))

    async def cancel_all(self, *, dry_run: bool = False, **filter: Unpack[wire.JobFilter]) -> wire.Bulk:  # noqa: A002
        """Begin to cancel all jobs that a filter fits and that have not ended; with dry_run, count them.

        It goes on at the nodes; wait_bulk waits for its end.
        """
        return await self.send(self.calls.all_jobs("cancel", dry_run, _query(filter)))

    async def retry_all(self, *, dry_run: bool = False, **filter: Unpack[wire.JobFilter]) -> wire.Bulk:  # noqa: A002
        """Begin to start all jobs again that a filter fits and that ended in error; with dry_run, count them."""
        return await self.send(self.calls.all_jobs("retry", dry_run, _query(filter)))

    async def bulk(self, number: int) -> wire.Bulk:
        """Read how far a bulk operation has come."""
        return await self.send(self.calls.bulk(number))

    async def wait_bulk(self, number: int, timeout: float | None = None) -> wire.Bulk:
        """Wait until a bulk operation has ended, and return it. Raises TimeoutError."""
        end = None if timeout is None else time.monotonic() + timeout
        while _goes_on(bulk := await self.send(self.calls.wait_bulk(number, _left(end)))):
            if timeout is not None and _left(end) <= 0:
                raise _late_bulk(number, timeout)
        return bulk

    async def cancel_bulk(self, number: int) -> wire.Bulk:
        """End a bulk operation; what was done stays done."""
        return await self.send(self.calls.cancel_bulk(number))

    async def read(self, path: str) -> Tagged[Any]:
        """Read something of the context by its path, such as /schedules/nightly, with its tag."""
        return await self._send(self.calls.read(path), _tagged)

    async def change(
        self, method: str, path: str, body: Any = None, *, if_match: str | None = None, if_none: bool = False
    ) -> Any:
        """Change something of the context by its path.

        With `if_match`, the tag of what was read, it is done only while that is so; with `if_none` only where there is
        no such thing yet. Else Conflict is raised, and nothing is done.
        """
        return await self.send(self.calls.change(method, path, body, if_match, if_none))

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> AsyncClient:
        """Use it until the end of a block."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, err: BaseException | None, tb: TracebackType | None
    ) -> None:
        """Close it."""
        await self.close()
