"""What functions of workers remember: the functions of `ramet.durable`, over HTTP.

A node knows how far a function has come by the number of requests that it had answered. Where it does not (another
was asked before, or it was started anew), it is told of all of them, and comes as far by what it has on its board.
"""

from __future__ import annotations

import asyncio
import os
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

from .durable import (
    Call,
    ChannelError,
    Decision,
    Step,
    Steps,
    Suspended,
    came_of,
    decided,
    failed,
    ms,
    outside,
    plain,
    results_of,
    takes_step,
    time_of,
    to_approval,
    to_call,
    to_sleep,
    to_wait,
    waited,
)
from .errors import Conflict, Exhausted, Fail, Unavailable, Unreachable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from datetime import datetime, timedelta

    from . import wire

    T = TypeVar("T")

_doing: ContextVar[str | None] = ContextVar("ramet_step", default=None)


class Memory:
    """What a job in hand has asked for. Its requests go through send, which runs on the worker's event loop."""

    def __init__(
        self, held: wire.HeldAttempt, send: Callable[[dict[str, Any]], Awaitable[wire.WorkerStepAnswer]]
    ) -> None:
        self._held = held
        self._send = send
        self._asked: list[dict[str, Any]] = []  # requests that count and were answered
        self._turn = asyncio.Lock()  # of these: they are asked one after the other
        self.suspension: wire.Suspension | None = None

    async def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Ask a node, until one answers."""
        if not _counts(request):
            return await self._ask(request)
        async with self._turn:
            answer = await self._ask(request)
            self._asked.append(request)
            return answer

    async def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        before: list[dict[str, Any]] | None = None
        pause = 0.1
        while True:
            ask = {**self._held, "request": request, "asked": len(self._asked)}
            if before is not None:
                ask["before"] = before
            try:
                got = await self._send(ask)
            except (Unavailable, Unreachable, Exhausted):
                await asyncio.sleep(pause)
                pause = min(2 * pause, 5.0)
                continue
            if got.get("unknown"):
                before = list(self._asked)
                continue
            return self._answered(got)

    def _answered(self, got: wire.WorkerStepAnswer) -> dict[str, Any]:
        answer: dict[str, Any] = got["answer"]
        if "error" in answer:
            kind, text = answer["error"]["kind"], answer["error"]["text"]
            if kind == "drift":
                raise Fail(text)  # it would be so each time
            if kind == "lost":
                raise Conflict({"code": "conflict", "status": 409, "detail": text})
            raise ChannelError(kind, text)
        if answer.get("suspend"):
            self.suspension = got.get("suspension")
            raise Suspended
        return answer


def _counts(request: dict[str, Any]) -> bool:
    """Tell whether a node counts a request."""
    return request["do"] not in ("done", "drop") and not (request["do"] == "step" and request.get("n"))


def steps_here(memory: Memory, loop: asyncio.AbstractEventLoop) -> Steps:
    """Give what a function without async remembers by: it runs in a thread of its own."""
    process = os.getpid()

    def send(request: dict[str, Any]) -> dict[str, Any]:
        if process != os.getpid():  # the loop, which would answer, stayed behind
            msg = f"ramet.{request['do']} in a process that the function has forked: ask in the function itself"
            raise RuntimeError(msg)
        if asyncio._get_running_loop() is loop:  # it would wait for itself
            msg = "a function with async asks by job.asteps: await job.asteps.step(...)"
            raise RuntimeError(msg)
        return asyncio.run_coroutine_threadsafe(memory.ask(request), loop).result()

    return Steps(send)


class AsyncSteps:
    """What a function with async remembers by: as the functions of `ramet`, to be awaited."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    async def step(
        self, name: str, f: Callable[..., Awaitable[T]], *, retries: int = 0, after: float | timedelta = 1.0
    ) -> T:
        """Run f once, ever, and give what it returned."""
        request: dict[str, Any] = {"do": "step", "name": name}
        while True:
            answer = await self._ask(request)
            if not answer["done"]:
                request = {**request, "n": answer["n"]}
                answer = await self._do(
                    Step(name, answer["key"], answer["attempt"]), answer["n"], f, retries, ms(after)
                )
            if not answer.get("again"):  # else the node waits with it, or suspends the job if that takes long
                value: T = came_of(answer)
                return value

    async def _do(self, step: Step, n: int, f: Callable[..., Awaitable[T]], retries: int, after: int) -> dict[str, Any]:
        request: dict[str, Any] = {"do": "done", "name": step.name, "n": n}
        token = _doing.set(step.name)
        cause: Exception | None = None
        try:
            value = plain(await (f(step) if takes_step(f) else f()))
        except Exception as err:
            cause = err
        finally:
            _doing.reset(token)
        if cause is None:
            try:
                return {**await self._ask({**request, "value": value}), "value": value}
            except ChannelError as err:
                if err.kind != "limit":
                    raise
                cause = err  # it is done, and would be done again if this were not remembered
        failure = failed(cause, step, retries, after)
        return {**await self._ask({**request, **failure}), "failure": failure["failure"], "cause": cause}

    async def sleep(
        self, name: str, duration: float | timedelta | None = None, *, until: datetime | None = None
    ) -> None:
        """Sleep for some time (in seconds), or until a time; no worker has the job meanwhile, unless it is short."""
        await self._ask(to_sleep(name, duration, until))

    async def wait(
        self, name: str, *, signal: str = "", prerequisite: str = "", timeout: float | timedelta | None = None
    ) -> Any:
        """Wait for a signal to the job, and give its payload; or for a prerequisite. Raises TimedOut."""
        return waited(name, await self._ask(to_wait(name, signal, timeout, prerequisite)))

    async def approval(
        self, name: str, text: str = "", *, timeout: float | timedelta | None = None, **asked: Any
    ) -> Decision:
        """Ask a person, and give what was decided. Raises TimedOut."""
        return decided(name, await self._ask(to_approval(name, text, timeout, asked)))

    async def call(
        self, name: str, blueprint: str = "", params: dict[str, Any] | None = None, **what: Any
    ) -> dict[str, str]:
        """Have a job or a flow of its own done, and give its result. Raises StepFailed."""
        return (await self.gather([Call(name, blueprint, params, **what)]))[0]

    async def gather(self, calls: list[Call]) -> list[dict[str, str]]:
        """Have jobs and flows done side by side, and give their results in that order. Raises StepFailed."""
        return results_of(await self._ask(to_call(calls))) if calls else []

    async def now(self) -> datetime:
        """Give the time."""
        return time_of(await self._ask({"do": "now"}))

    async def random(self) -> float:
        """Give a number from 0 to below 1."""
        return float((await self._ask({"do": "random"}))["value"])

    async def uuid(self) -> str:
        """Give a UUID."""
        return str((await self._ask({"do": "uuid"}))["value"])

    async def version(self, name: str, n: int) -> int:
        """Give the version of what name is that this job began with, at most n."""
        return int((await self._ask({"do": "version", "name": name, "n": n}))["value"])

    async def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        outside(request, _doing.get())
        return await self._memory.ask(request)
