"""The operations that both clients make: what is asked for, and how the answer is read."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from . import convert, errors, wire

T = TypeVar("T")

TRIES = 8
"""How often a request is sent that may be repeated."""

SLACK = 10.0
"""How much longer than a node is to wait its answer is waited for, in seconds."""

CLAIM_WAIT_MS = 20_000
"""How long a node is to wait for the first job, in milliseconds."""


@dataclass(frozen=True)
class Call(Generic[T]):
    """One request."""

    method: str
    path: str
    read: Callable[[Any], T]
    query: Mapping[str, str | int] | None = None
    body: bytes | None = None
    key: str | None = None
    """The Idempotency-Key."""
    repeatable: bool = False
    """That it may be sent again when nobody knows what became of it."""
    timeout: float = 60.0
    condition: Mapping[str, str] | None = None
    """The header that says under which condition something is changed."""

    @property
    def headers(self) -> dict[str, str]:
        """Give the headers that are the request's own."""
        headers = {}
        if self.body is not None:
            headers["Content-Type"] = "application/json"
        if self.key is not None:
            headers["Idempotency-Key"] = self.key
        return {**headers, **(self.condition or {})}

    def again(self, err: errors.RametError, failures: int) -> bool:
        """Say whether the request is sent again."""
        if not (self.repeatable or self.key is not None or self.method == "GET") or failures >= TRIES:
            return False
        return isinstance(err, (errors.Unreachable, errors.Exhausted, errors.Unavailable))


def pause(failures: int, at_least: float = 0.0) -> float:
    """How long to rest after a number of failures, in seconds: longer after several, and not all at once."""
    most: float = min(0.1 * 2 ** min(failures, 10), 10.0)
    return max(at_least, most * random.uniform(0.5, 1.0))


@dataclass(frozen=True)
class Tagged(Generic[T]):
    """What was read, and the tag that says what it was then: for `if_match`."""

    value: T
    tag: str


def _same(answer: Any) -> Any:
    return answer


def encode(body: Any) -> bytes:
    """Write a body."""
    return bounded(convert.dumps(body).encode("utf-8", "replace"))


def bounded(body: bytes) -> bytes:
    """Refuse a body that no node would read: it would close the connection while it is sent."""
    if len(body) > wire.MAX_BODY:
        detail = f"the request has {len(body)} bytes, the limit is {wire.MAX_BODY}"
        raise errors.Limit({"code": "limit", "status": 422, "detail": detail})
    return body


@dataclass(frozen=True)
class JobKey:
    """The name of a job within its context: the same in all its attempts."""

    caller: int
    id: int

    @classmethod
    def parse(cls, text: str) -> JobKey:
        """Read a key as nodes write it, job:<caller>:<id>."""
        try:
            word, caller, number = text.split(":")
            if word != "job":
                raise ValueError
            return cls(int(caller), int(number))
        except ValueError:
            msg = f"key {text!r}: want job:<caller>:<id>"
            raise ValueError(msg) from None

    def __str__(self) -> str:
        """Write it as nodes do."""
        return f"job:{self.caller}:{self.id}"


class Calls:
    """The requests of one context."""

    def __init__(self, context: int) -> None:
        self.base = f"/v1/contexts/{context}"

    def job(self, key: JobKey) -> str:
        """Give the path of a job."""
        return f"{self.base}/jobs/{key.caller}/{key.id}"

    def register(self, types: Sequence[str]) -> Call[None]:
        """Have jobs be of types, before the first worker has asked for one."""
        body = encode({"types": list(types)})
        return Call("POST", f"{self.base}/workers", lambda _: None, body=body, repeatable=True)

    def submit(self, job: wire.JobInput, key: str | None) -> Call[JobKey]:
        """Submit one job."""
        return Call("POST", f"{self.base}/jobs", lambda a: JobKey.parse(a["jobs"][0]["key"]), body=encode(job), key=key)

    def submit_many(self, jobs: Sequence[wire.JobInput], key: str | None) -> Call[list[wire.Submitted]]:
        """Submit many jobs, each judged alone."""
        return Call("POST", f"{self.base}/jobs", lambda a: a["jobs"], body=encode({"jobs": list(jobs)}), key=key)

    def show(self, key: JobKey) -> Call[wire.Job]:
        """Read a job."""
        return Call("GET", self.job(key), _same)

    def wait(self, key: JobKey, timeout: float) -> Call[wire.Job]:
        """Wait for a job's end for a while."""
        ms = max(1, min(int(timeout * 1000), 60_000))
        return Call("GET", self.job(key) + "/wait", _same, query={"timeout_ms": ms}, timeout=ms / 1000 + SLACK)

    def logs(self, key: JobKey, start: int) -> Call[wire.LogPage]:
        """Read a part of a job's log."""
        return Call("GET", self.job(key) + "/logs", _same, query={"from": start})

    def act(self, key: JobKey, verb: str) -> Call[wire.Job]:
        """Cancel a job, or retry it."""
        return Call("POST", f"{self.job(key)}/{verb}", _same)

    def signal(self, key: JobKey, name: str, payload: Any) -> Call[wire.Job]:
        """Send a signal to a job."""
        body = encode({"name": name, "payload": payload})
        return Call("POST", self.job(key) + "/signal", _same, body=body)

    def explain(self, key: JobKey) -> Call[wire.JobExplanation]:
        """Say why a job is where it is."""
        return Call("GET", self.job(key) + "/explain", _same)

    def list_jobs(self, query: Mapping[str, str | int]) -> Call[wire.JobPage]:
        """List a page of jobs."""
        return Call("GET", f"{self.base}/jobs", _same, query=query)

    def all_jobs(self, verb: str, dry_run: bool, query: Mapping[str, str | int]) -> Call[wire.Bulk]:
        """Cancel all jobs that a filter fits, or retry them; or count them."""
        if dry_run:
            query = {**query, "dry_run": "true"}
        return Call("POST", f"{self.base}/jobs/all/{verb}", _same, query=query)

    def bulk(self, number: int) -> Call[wire.Bulk]:
        """Read how far a bulk operation has come."""
        return Call("GET", f"{self.base}/bulk/{number}", _same)

    def wait_bulk(self, number: int, timeout: float) -> Call[wire.Bulk]:
        """Wait for the end of a bulk operation for a while."""
        ms = max(1, min(int(timeout * 1000), 60_000))
        path = f"{self.base}/bulk/{number}/wait"
        return Call("GET", path, _same, query={"timeout_ms": ms}, timeout=ms / 1000 + SLACK)

    def cancel_bulk(self, number: int) -> Call[wire.Bulk]:
        """End a bulk operation."""
        return Call("POST", f"{self.base}/bulk/{number}/cancel", _same)

    def flow(self, number: int) -> str:
        """Give the path of a flow."""
        return f"{self.base}/flows/{number}"

    def submit_flow(self, flow: wire.FlowInput, key: str | None) -> Call[int]:
        """Submit one flow."""
        return Call("POST", f"{self.base}/flows", lambda a: int(a["flows"][0]["id"]), body=encode(flow), key=key)

    def show_flow(self, number: int) -> Call[wire.FlowView]:
        """Read a flow."""
        return Call("GET", self.flow(number), _same)

    def wait_flow(self, number: int, timeout: float) -> Call[wire.FlowView]:
        """Wait for a flow's end for a while."""
        ms = max(1, min(int(timeout * 1000), 60_000))
        return Call("GET", self.flow(number) + "/wait", _same, query={"timeout_ms": ms}, timeout=ms / 1000 + SLACK)

    def act_flow(self, number: int, verb: str, how: Mapping[str, Any] | None = None) -> Call[wire.FlowDone]:
        """Cancel a flow, or retry it."""
        return Call("POST", f"{self.flow(number)}/{verb}", _same, body=None if how is None else encode(how))

    def explain_flow(self, number: int) -> Call[wire.FlowExplanation]:
        """Say why a flow is where it is."""
        return Call("GET", self.flow(number) + "/explain", _same)

    def read(self, path: str) -> Call[Any]:
        """Read something of the context."""
        return Call("GET", self.base + path, _same)

    def change(self, method: str, path: str, body: Any, if_match: str | None, if_none: bool) -> Call[Any]:
        """Change something of the context."""
        condition = {}
        if if_match is not None:
            condition["If-Match"] = if_match
        if if_none:
            condition["If-None-Match"] = "*"
        content = None if body is None else encode(body)
        return Call(method, self.base + path, _same, body=content, condition=condition)

    def claim(self, worker: str, ask: wire.WorkerAsk) -> Call[list[wire.Assignment]]:
        """Take jobs for a worker. It is not repeated: whoever claims just asks again."""
        timeout = ask.get("wait_ms", 0) / 1000 + SLACK
        path = f"{self.base}/workers/{worker}/claim"
        return Call("POST", path, lambda a: a["jobs"], body=encode(ask), timeout=timeout)

    def extend(
        self, worker: str, lease_ms: int, held: Sequence[wire.HeldAttempt], timeout: float, wait_ms: int = 0
    ) -> Call[list[wire.LeaseState]]:
        """Renew the leases of a worker's jobs; wait until one of them is to stop."""
        ask: dict[str, Any] = {"lease_ms": lease_ms, "jobs": list(held)}
        if wait_ms:
            ask["wait_ms"] = wait_ms
        path = f"{self.base}/workers/{worker}/extend"
        return Call("POST", path, lambda a: a["states"], body=encode(ask), timeout=timeout + wait_ms / 1000)

    def leave(self, worker: str) -> Call[None]:
        """Say that a worker stops: it is listed no more."""
        return Call("POST", f"{self.base}/workers/{worker}/leave", lambda _: None, repeatable=True)

    def finish(self, worker: str, ends: Sequence[bytes]) -> Call[list[wire.FinishedJob]]:
        """End attempts of a worker, each an AttemptEnd that is written already."""
        body, path = bounded(b'{"jobs":[' + b",".join(ends) + b"]}"), f"{self.base}/workers/{worker}/finish"
        return Call("POST", path, lambda a: a["jobs"], body=body)

    def step(self, worker: str, ask: Mapping[str, Any], timeout: float) -> Call[wire.WorkerStepAnswer]:
        """Ask what a job remembers. It may be repeated: a node knows what it was asked before."""
        return Call("POST", f"{self.base}/workers/{worker}/step", _same, body=encode(ask), timeout=timeout)

    def log(self, worker: str, held: wire.HeldAttempt, lines: Sequence[wire.LogLine]) -> Call[None]:
        """Add lines to the log of a worker's job."""
        body, path = encode({**held, "lines": list(lines)}), f"{self.base}/workers/{worker}/log"
        return Call("POST", path, lambda _: None, body=body)
