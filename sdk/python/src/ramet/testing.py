"""Running functions without a node, for tests of theirs.

    outcome = ramet.testing.run(mail, to="x")
    assert outcome.verdict == "succeeded" and outcome.logs == ["sent"]

Arguments and results go through JSON as they would on their way through a node. A function that remembers, sleeps or
waits is called again from its top, at once, at the time when that is over:

    memory = ramet.testing.Memory(signals={"click": [{"by": "ada"}]})
    assert memory.run(order, cents=17).result == {"paid": "17", "by": "ada"}
    assert memory.steps == ["step charge", "sleep grace", "wait click"]
"""

from __future__ import annotations

import asyncio
import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from .errors import Cause
from .function import Function, Outcome, raised, returned, unread
from .job import Job, _current, job_logs
from .testmemory import Attempt, History

if TYPE_CHECKING:
    from collections.abc import Mapping

    from . import wire

P = ParamSpec("P")
R = TypeVar("R")
_ids = itertools.count(1)


@dataclass
class TestOutcome(Outcome):
    """How a function ended, and what it logged."""

    __test__ = False  # no class of tests, whatever pytest thinks of its name
    logs: list[str] = field(default_factory=list)


def make_job(
    script: str = "{}",
    *,
    type: str = "test",  # noqa: A002 - the node's own word
    attempt: int = 1,
    env: Mapping[str, str] | None = None,
    params: Mapping[str, str] | None = None,
    needs: Mapping[str, wire.Needed] | None = None,
) -> Job:
    """Make a job that stands by itself."""
    record: wire.Job = {
        "id": next(_ids),
        "caller_id": 1,
        "context_id": 1,
        "script": script,
        "script_type": type,
        "timeout": 0,
        "retries": 0,
        "env_vars": dict(env or {}),
        "result": {},
        "prerequisites": [],
        "dependends": [],
        "created_at": 0,
        "updated_at": 0,
        "status": "started",
        "attempt": attempt,
    }
    return Job(
        {
            "job": record,
            "attempt": attempt,
            "lease_ms": 30_000,
            "timeout_ms": 0,
            "env": dict(env or {}),
            "input": {"params": dict(params or {}), "needs": dict(needs or {})},
        }
    )


class Memory(History):
    """What a job remembers, and what comes to it from others.

    Run again, a function goes on from where it was: so a test sees what it does after a failure. What it waits for and
    what does not come ends it with the verdict "suspended"; the suspension says what that is.
    """

    def run(self, function: Function[P, R], *args: P.args, **kwargs: P.kwargs) -> TestOutcome:
        """Call a function as a worker would, and again whenever what it slept or waited for is over."""
        job = make_job(function.signature.write(args, kwargs), type=function.name, attempt=self.attempts + 1)
        return run_job(function, job, memory=self)


def run(function: Function[P, R], *args: P.args, **kwargs: P.kwargs) -> TestOutcome:
    """Call a function as a worker would, and say how its job would end. It has a Memory, to which nothing comes."""
    return Memory().run(function, *args, **kwargs)


def run_job(
    function: Function[..., Any], job: Job, *, stopped: Cause | None = None, memory: History | None = None
) -> TestOutcome:
    """Call a function with a job of one's own, made by make_job; with stopped one that was told to stop before."""
    memory = memory or Memory()
    logs: list[str] = []
    while True:
        memory.attempts += 1
        attempt = Attempt(memory, job.held)
        job.remember(attempt, attempt.steps())
        outcome = _run_once(function, job, stopped)
        logs += outcome.logs
        if outcome.verdict != "suspended" or attempt.until is None:
            outcome.logs = logs
            return outcome
        memory.skip(attempt.until)
        job = Job({**job.assignment, "attempt": job.attempt + 1})


def _run_once(function: Function[..., Any], job: Job, stopped: Cause | None) -> TestOutcome:
    token = _current.set(job)
    if stopped is not None:
        job.stop(stopped)
    try:
        with job_logs(at_info=True):
            outcome = _call(function, job)
    finally:
        _current.reset(token)
    return TestOutcome(**vars(outcome), logs=[line["line"] for line in job.close()])


def _call(function: Function[..., Any], job: Job) -> Outcome:
    try:
        args, kwargs = function.signature.read(job.record["script"])
    except (ValueError, TypeError) as err:
        return unread(err)
    try:
        value = function.function(*args, **kwargs)
        if function.is_async:
            value = asyncio.run(value)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as err:
        return raised(err, job)
    return returned(value, job)
