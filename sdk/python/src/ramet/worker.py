"""The worker: takes jobs, runs functions, hands in their ends.

On the event loop run two tasks that claim (the second while there are more jobs than one claim brings), two that hand
in ends (while one waits for its answer the other gathers), one that sends what was logged, one that waits for cancels,
and one for each job in hand. A thread of its own renews leases, so that a function that holds up the loop does not cost
those of others.

While no node answers, functions go on until shortly before their lease runs out; then they are told to stop, because
another worker may have the job next. Ends are handed in again until then. Leases are counted by this machine's
monotonic clock from when they were asked for: nothing depends on what time it is anywhere.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import platform
import re
import secrets
import signal
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from . import convert, errors, wire
from .calls import CLAIM_WAIT_MS, pause
from .client import AsyncClient, Client
from .errors import Cause, Stopped
from .function import Function, Outcome, raised, returned, unread
from .job import Job, _current, job_logs
from .steps import Memory, steps_here
from .threads import Interrupt, Threads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from .app import App

log = logging.getLogger("ramet.worker")

FINISHERS = 2
END_ROOM = 4 << 20
"""How many bytes of ends go with one request."""
STEP_TIMEOUT = 60.0
"""How long an answer of what a job remembers may take, in seconds, before it is asked for again."""
LEAVE_TIMEOUT = 2.0
"""How long the answer to the last request may take, in seconds: without it the worker is listed some minutes more."""
LOG_EVERY = 0.2
"""The longest that a line waits before it is sent, in seconds."""


_handled: dict[signal.Signals, Any] = {}
"""The signals that stop a worker of this process, and what they did before."""


_mask = threading.local()
"""Which signals a thread had wait before it began to fork, in .before."""


def _forks() -> None:
    """Have signals wait that come to the child before it has got rid of what the worker does with them."""
    if _handled:
        _mask.before = signal.pthread_sigmask(signal.SIG_BLOCK, _handled)


def _has_forked() -> None:
    if (before := getattr(_mask, "before", None)) is not None:
        _mask.before = None
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _was_forked() -> None:
    """Take the worker's signals from a process that a function has forked: what ends that would stop the worker."""
    if _handled:
        signal.set_wakeup_fd(-1)  # it is the worker's loop that would be woken
        for number, before in _handled.items():
            signal.signal(number, before)
        _handled.clear()
    _has_forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_forks, after_in_parent=_has_forked, after_in_child=_was_forked)


def _name() -> str:
    """Make a name that is another for each start of the program."""
    host = re.sub(r"[^A-Za-z0-9.-]", "", platform.node())[:40].strip("-.") or "worker"
    return f"{host}-{secrets.token_hex(6)}"


@dataclass(frozen=True, kw_only=True)
class WorkerConfig:
    """What a worker is. Times are in seconds."""

    concurrency: int = 64
    """How many jobs run at once."""
    lease: float = wire.DEFAULT_LEASE_MS / 1000
    """How long a job stays with a worker that is not heard of, 5 to 600."""
    grace: float = 30.0
    """How long functions may go on when the worker is told to stop; then they are told, too, and their jobs go back.

    One that does not listen holds up the end until it is done, for a lease at the most.
    """
    labels: Mapping[str, str] | None = None
    """What jobs may ask for by affinity."""
    version: str = ""
    """What the list of runners shows."""
    name: str = field(default_factory=_name)
    """Tells this life of the program from others: leases are in its name."""

    def __post_init__(self) -> None:
        """Check what is there."""
        if self.concurrency < 1:
            msg = f"concurrency {self.concurrency}: want 1 or more"
            raise ValueError(msg)
        if not wire.MIN_WORKER_LEASE_MS <= self.lease * 1000 <= wire.MAX_WORKER_LEASE_MS:
            msg = f"lease {self.lease}: want 5 to 600 seconds"
            raise ValueError(msg)


class Run:
    """A job in hand."""

    def __init__(self, worker: Worker, assignment: wire.Assignment, asked: float) -> None:
        self.job = Job(assignment, self._noted)
        self.until = asked + assignment["lease_ms"] / 1000
        self.sending = asyncio.Lock()  # held while lines are on their way
        self.task: asyncio.Task[None] | None = None
        self.ending: asyncio.Task[None] | None = None  # sends what waits of its log, and is not stopped with it
        self._interrupt = Interrupt(Stopped)
        self._worker = worker
        self._dirty = False
        self.refused = False  # that the node did not take what was in its end

    def left(self) -> float:
        """Give how long the lease is good, in seconds."""
        return self.until - time.monotonic()

    def look(self) -> None:
        """Give the job up where too little is left of its lease to begin it.

        A process that was held up (stopped by a signal, say) after a node has given it the job finds
        that another worker may have it by now; the heartbeat, held up too, is too late to say so.
        """
        if self.left() <= self._worker.margin:
            self.job.stop(Cause.LOST)

    def stop(self, cause: Cause) -> None:
        """Tell the function to stop, from any thread."""
        if not self.job.stop(cause):
            return
        self._interrupt.send()
        if self.task is not None:
            self._worker.call(self.task.cancel)

    def remember(self, client: AsyncClient) -> None:
        """Have the function find what its job remembers."""

        async def send(ask: dict[str, Any]) -> wire.WorkerStepAnswer:
            # What waits for a step beside it has its answer when that is done, so not before the job's time.
            return await client.send(client.calls.step(self._worker.config.name, ask, STEP_TIMEOUT))

        memory = Memory(self.job.held, send)
        self.job.remember(memory, steps_here(memory, asyncio.get_running_loop()))

    def _noted(self) -> None:
        """Have what was logged be sent, from any thread."""
        if not self._dirty:
            self._dirty = True
            self._worker.call(self._worker.logged, self)

    async def flush(self, client: AsyncClient, worker: str) -> None:
        """Send what was logged; what cannot be sent goes again, or with the end."""
        async with self.sending:
            self._dirty = False
            try:
                more = await self._send_first(client, worker)
            except (errors.Conflict, errors.NotFound, errors.Forbidden):
                return  # it is not ours any more: the next heartbeat says so
            except errors.RametError as err:
                log.debug("lines of %s not sent: %s", self.job.key, err)
                self._noted()
                return
            if more:
                self._noted()

    async def _send_first(self, client: AsyncClient, worker: str) -> bool:
        """Send the first lines that wait, and say whether there are more."""
        lines = self.job.take()
        try:
            if lines:
                await client.send(client.calls.log(worker, self.job.held, lines))
        except BaseException:  # the lease may leave no more time for the answer
            self.job.unsent()
            raise
        return self.job.sent()

    async def send_rest(self, client: AsyncClient, worker: str, margin: float) -> None:
        """Send what the log of an ended function has more than goes with its end.

        A node that takes nothing holds up no end for ever: it has half of what is left of the lease now, however often
        that is renewed, and the end has the rest.
        """
        failures, until = 0, time.monotonic() + min(self.left() / 2, self.left() - margin)
        async with self.sending:
            while self.job.overfull() and self.job.cause is not Cause.LOST and (left := until - time.monotonic()) > 0:
                try:
                    await asyncio.wait_for(self._send_first(client, worker), left)
                    failures = 0
                except asyncio.TimeoutError:  # another than TimeoutError before Python 3.11
                    return
                except (errors.Conflict, errors.NotFound, errors.Forbidden, errors.Invalid, errors.Limit):
                    return  # nor will it be taken later
                except errors.RametError as err:
                    log.debug("lines of %s not sent: %s", self.job.key, err)
                    failures += 1
                    await asyncio.sleep(pause(failures, min(err.retry_after, (until - time.monotonic()) / 2)))

    def call_here(self, f: Function[..., Any]) -> Outcome:
        """Run a function without async, in this thread."""
        token = _current.set(self.job)
        try:
            args, kwargs = f.signature.read(self.job.record["script"])
        except (ValueError, TypeError) as err:
            return unread(err)
        try:
            # The interrupt may also come while its block ends, so the exceptions are caught outside of it.
            with self._interrupt:
                self.look()
                self.job.check()
                value = f.function(*args, **kwargs)
        except BaseException as err:
            return raised(err, self.job)
        finally:
            _current.reset(token)
        return returned(value, self.job)

    async def call_async(self, f: Function[..., Any]) -> Outcome:
        """Run a function with async, in this task."""
        _current.set(self.job)  # of this task alone
        try:
            args, kwargs = f.signature.read(self.job.record["script"])
        except (ValueError, TypeError) as err:
            return unread(err)
        try:
            self.look()
            if self.job.cause is not None:
                raise asyncio.CancelledError
            value = await f.function(*args, **kwargs)
        except BaseException as err:
            return raised(err, self.job)
        return returned(value, self.job)


class Worker:
    """Runs the functions of an app as jobs."""

    def __init__(self, app: App, config: WorkerConfig) -> None:
        self.config = config
        self.margin = config.lease / 6 + config.lease / 20
        """How long before its end a lease is given up, in seconds: a heartbeat, and one call of it."""
        self._app = app
        self._process = os.getpid()
        self._functions = dict(app.functions)
        self._ask: wire.WorkerAsk = {
            "types": sorted(self._functions),
            # Nobody knows when within the wait a lease began, so it is counted from before: the wait is part of it.
            "wait_ms": min(CLAIM_WAIT_MS, int(config.lease * 1000 / 3)),
            "lease_ms": round(config.lease * 1000),
            "slots": config.concurrency,
            "host": platform.node()[:200],
            "version": config.version,
        }
        if config.labels:
            self._ask["labels"] = dict(config.labels)
        self._lock = threading.Lock()
        self._held: dict[tuple[int, int, int, int], Run] = {}  # written on the loop, read by the heartbeat
        self._threads = Threads()
        self._ends: deque[tuple[Run, bytes]] = deque()
        self._dirty: set[Run] = set()
        self._free = config.concurrency
        self._loop: asyncio.AbstractEventLoop | None = None
        self._client: AsyncClient | None = None
        self._stops = 0
        self._stopping, self._hurry = asyncio.Event(), asyncio.Event()
        self._room, self._empty = asyncio.Event(), asyncio.Event()  # a slot is free; all are
        self._busy = asyncio.Event()  # a job has come into hand
        self._plenty = asyncio.Event()  # a claim brought all that it asked for
        self._ended, self._lines = asyncio.Event(), asyncio.Event()  # there are ends, lines, to be sent

    def call(self, function: Callable[..., object], *args: object) -> None:
        """Have something be done on the loop, from any thread."""
        if self._loop is None:
            function(*args)
            return
        with contextlib.suppress(RuntimeError):  # the loop is closed: this was left behind
            self._loop.call_soon_threadsafe(function, *args)

    def stop(self) -> None:
        """Have the worker end, from any thread: gracefully at first, at once when called again."""
        self.call(self._stop)

    def _stop(self) -> None:
        self._stops += 1
        if self._stops == 1:
            log.info("the worker stops: no more jobs are taken, %d are in hand", len(self._held))
            self._stopping.set()
        else:
            self._hurry.set()

    async def run(self, *, signals: bool = False) -> None:
        """Claim jobs and run them until it is stopped, or cancelled; with signals SIGTERM and SIGINT stop it."""
        if not self._functions:
            msg = "the app has no functions: decorate them with @app.job() before the worker runs"
            raise errors.RametError(msg)
        if self._process != os.getpid():  # leases are in its name, which must be of one process alone
            msg = "the worker was made before this process was forked: make one in each process, by app.worker()"
            raise errors.RametError(msg)
        for f in self._functions.values():
            f.signature.resolve()  # what cannot be read is found now
        self._loop = loop = asyncio.get_running_loop()
        beats = threading.Event()
        heart = threading.Thread(target=self._heartbeat, args=(beats,), name="ramet-heartbeat", daemon=True)
        heart.start()
        self._client = client = AsyncClient(self._app.place, self._app.context)
        loops = [asyncio.create_task(self._finish_loop(client)) for _ in range(FINISHERS)]
        loops.append(asyncio.create_task(self._log_loop(client)))
        loops.append(asyncio.create_task(self._listen_loop(client)))
        try:
            with job_logs(at_info=not logging.getLogger().handlers), self._signals(loop, wanted=signals):
                await self._work(client)
        finally:
            for task in loops:
                task.cancel()
            await asyncio.gather(*loops, return_exceptions=True)
            beats.set()
            await asyncio.to_thread(heart.join)
            self._threads.close()
            # So that nobody takes it for one that is lost. In Python 3.10 the time-out is another than TimeoutError.
            with contextlib.suppress(errors.RametError, asyncio.TimeoutError):
                await asyncio.wait_for(client.send(client.calls.leave(self.config.name)), LEAVE_TIMEOUT)
            await client.close()

    @contextlib.contextmanager
    def _signals(self, loop: asyncio.AbstractEventLoop, *, wanted: bool) -> Iterator[None]:
        before: dict[int, Any] = {}
        numbers = (signal.SIGTERM, signal.SIGINT) if wanted else ()
        for number in numbers:
            was = signal.getsignal(number)
            try:
                loop.add_signal_handler(number, self._stop)
                _handled[number] = was
            except NotImplementedError:  # on Windows
                before[number] = signal.signal(number, lambda *_: self.stop())
        try:
            yield
        finally:
            for number in numbers:
                if number in before:
                    signal.signal(number, before[number])
                else:
                    loop.remove_signal_handler(number)
                    _handled.pop(number, None)

    async def _work(self, client: AsyncClient) -> None:
        """Claim until told to stop, then wait for what is in hand."""
        tasks: list[asyncio.Task[Any]] = [
            asyncio.create_task(self._claim_loop(client, more=False)),
            asyncio.create_task(self._claim_loop(client, more=True)),
            asyncio.create_task(self._stopping.wait()),
        ]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            ends = await asyncio.gather(*tasks, return_exceptions=True)
            await self._drain()
        for end in ends:
            if isinstance(end, Exception):
                raise end

    async def _drain(self) -> None:
        """Wait for the functions in hand, and tell them to stop when they have had their time."""
        empty = asyncio.create_task(self._until_empty())
        hurry = asyncio.create_task(self._hurry.wait())
        await asyncio.wait({empty, hurry}, timeout=self.config.grace, return_when=asyncio.FIRST_COMPLETED)
        hurry.cancel()
        for run in self._runs():
            run.stop(Cause.STOPPING)
        await asyncio.wait({empty}, timeout=self.config.lease)
        if not empty.done():
            empty.cancel()
            names = ", ".join(str(run.job.key) for run in self._runs())
            log.warning("functions do not stop though they were told to; they are left behind: %s", names)

    async def _until_empty(self) -> None:
        while self._held:
            self._empty.clear()
            await self._empty.wait()

    def _runs(self) -> list[Run]:
        with self._lock:
            return list(self._held.values())

    async def _claim_loop(self, client: AsyncClient, *, more: bool) -> None:
        """Take jobs until the task is cancelled, or a node refuses what the worker is; for more see _claim."""
        failures = 0
        while True:
            if more:
                await self._plenty.wait()
            while not self._free:
                self._room.clear()
                await self._room.wait()
            try:
                await self._claim(client, more=more)
                failures = 0
            except errors.Invalid:
                raise  # asked again it would be so again
            except Exception as err:  # whatever it is, jobs go on to come
                failures += 1
                known = isinstance(err, errors.RametError)
                log.warning("no work taken: %s", err if known else repr(err), exc_info=not known)
                await asyncio.sleep(pause(failures, err.retry_after if isinstance(err, errors.RametError) else 0.0))

    async def _claim(self, client: AsyncClient, *, more: bool) -> None:
        """Take as many jobs as there are free slots; for more only while claims bring all that they ask for."""
        ask = self._ask.copy()
        ask["max"] = slots = min(self._free, wire.MAX_ASSIGNMENTS)
        ask["running"] = self.config.concurrency - self._free
        if more:
            ask["wait_ms"] = 0
        self._free -= slots
        asked, begun = time.monotonic(), 0
        try:
            for assignment in await client.send(client.calls.claim(self.config.name, ask)):
                run = Run(self, assignment, asked)
                run.remember(client)
                self._start(run)
                begun += 1
        finally:
            self._give_back(slots - begun)
            if begun == slots:
                self._plenty.set()
            else:
                self._plenty.clear()

    def _start(self, run: Run) -> None:
        """Run a job, whose slot is taken already."""
        with self._lock:
            self._held[_id(run)] = run
        self._busy.set()
        timeout = run.job.assignment["timeout_ms"] / 1000
        loop = asyncio.get_running_loop()
        timer = loop.call_later(timeout, run.stop, Cause.TIMEOUT) if timeout > 0 else None
        f = self._functions.get(run.job.type)
        if f is not None and f.is_async:
            run.task = loop.create_task(self._run_async(run, f, timer))
        else:
            try:
                self._threads.start(lambda: self._run_here(run, f, timer))
            except RuntimeError:  # the process has no thread left: the lease runs out, and another has the job
                with self._lock:
                    self._held.pop(_id(run), None)
                if timer is not None:
                    timer.cancel()
                raise

    async def _run_async(self, run: Run, f: Function[..., Any], timer: asyncio.TimerHandle | None) -> None:
        outcome = await run.call_async(f)
        run.task = None
        self._end(run, outcome, timer)

    def _run_here(self, run: Run, f: Function[..., Any] | None, timer: asyncio.TimerHandle | None) -> None:
        if f is None:
            outcome = Outcome("failed", error=f"this worker has no function for the type {run.job.type!r}", final=True)
        else:
            outcome = run.call_here(f)
        self.call(self._end, run, outcome, timer)

    def _end(self, run: Run, outcome: Outcome, timer: asyncio.TimerHandle | None) -> None:
        """Put the end of a run with those to be handed in."""
        if timer is not None:
            timer.cancel()
        run.job.shut()
        if self._client is not None and (run.sending.locked() or run.job.overfull()):  # its lines come first
            run.ending = asyncio.create_task(
                self._end_later(self._client, run, outcome)
            )  # kept, so that it is not collected
            return
        self._end_now(run, outcome)

    async def _end_later(self, client: AsyncClient, run: Run, outcome: Outcome) -> None:
        try:
            await run.send_rest(client, self.config.name, self.margin)
        finally:
            self._end_now(run, outcome)

    def _end_now(self, run: Run, outcome: Outcome) -> None:
        lines = run.job.close()
        if run.job.cause is Cause.LOST:
            log.warning("the end of %s was dropped: its lease was lost", run.job.key)
            if run.left() <= 0:
                self._let(run)
                return
            # It goes back while the lease is its own still: nobody waits for that to run out.
            outcome, lines = Outcome("lost"), []
        self._ends.append((run, _written(run.job, outcome, lines)))
        self._ended.set()

    def _let(self, run: Run) -> None:
        """Forget a job in hand."""
        with self._lock:
            if self._held.pop(_id(run), None) is None:
                return
        self._give_back(1)
        if not self._held:
            self._empty.set()

    def _give_back(self, slots: int) -> None:
        """Free slots, and wake the loops that wait for one: what a claim took and did not need is one, too."""
        if slots:
            self._free += slots
            self._room.set()

    async def _finish_loop(self, client: AsyncClient) -> None:
        """Hand in ends, all that are ready at once."""
        while True:
            while not self._ends:
                self._ended.clear()
                await self._ended.wait()
            group, size = [self._ends.popleft()], 0
            while self._ends and len(group) < wire.MAX_ASSIGNMENTS and (size := size + len(group[-1][1])) < END_ROOM:
                group.append(self._ends.popleft())
            await self._finish(client, group)

    async def _finish(self, client: AsyncClient, group: list[tuple[Run, bytes]]) -> None:
        """Hand in ends until each is written, or its lease is lost."""
        failures = 0
        while group:
            answers: list[wire.FinishedJob] | None = None
            problem: errors.RametError | None = None
            try:
                answers = await client.send(client.calls.finish(self.config.name, [end for _, end in group]))
            except (errors.Invalid, errors.Limit) as err:
                if len(group) > 1:  # for one of them, perhaps: others are not to go with it
                    half = len(group) // 2
                    await self._finish(client, group[:half])
                    group = group[half:]
                    continue
                refusal: wire.Problem = {"title": "", "status": err.status, "code": err.code, "detail": str(err)}
                answers = [{"problem": refusal}]
            except errors.RametError as err:
                problem = err
            again = []
            for i, (run, end) in enumerate(group):
                left = self._settled(run, end, answers[i] if answers is not None else None)
                if left is None:
                    continue
                if run.left() <= 0:
                    text = "the end of %s could not be handed in before its lease ran out: %s"
                    log.warning(text, run.job.key, problem)
                    self._let(run)
                    continue
                again.append((run, left))
            group = again
            if group:
                failures += 1
                least = 0.0
                if problem is not None:
                    log.warning("ends of %d jobs not handed in; they are tried again: %s", len(group), problem)
                    # As the node asks, but not for so long that leases run out meanwhile.
                    least = min(problem.retry_after, min(run.left() for run, _ in group) / 2)
                await asyncio.sleep(pause(failures, least))

    def _settled(self, run: Run, end: bytes, answer: wire.FinishedJob | None) -> bytes | None:
        """Let a job go whose end is written, or never will be; else give the end that is handed in next."""
        if answer is None:
            return end
        if "problem" in answer:
            problem = errors.of_problem(answer["problem"])
            if isinstance(problem, (errors.Invalid, errors.Limit)) and not run.refused:
                # The node does not take what is in it: a failure that says so.
                run.refused = True
                outcome = Outcome("failed", error=f"its end was not taken: {problem}", final=True)
                return convert.dumps(outcome.end(run.job)).encode("utf-8", "replace")
            if not isinstance(problem, (errors.Conflict, errors.NotFound, errors.Forbidden, errors.Invalid)):
                return end
            log.warning("the end of %s, attempt %d, was not taken: %s", run.job.key, run.job.attempt, problem)
        self._let(run)
        return None

    def logged(self, run: Run) -> None:
        """Have the lines of a run be sent soon."""
        self._dirty.add(run)
        self._lines.set()

    async def _log_loop(self, client: AsyncClient) -> None:
        """Send what was logged, of all jobs that did."""
        while True:
            await self._lines.wait()
            await asyncio.sleep(LOG_EVERY)
            self._lines.clear()
            dirty, self._dirty = self._dirty, set()
            await asyncio.gather(*(run.flush(client, self.config.name) for run in dirty))

    def _heartbeat(self, end: threading.Event) -> None:
        """Renew the leases in hand, and stop what is cancelled or lost."""
        with Client(self._app.place, self._app.context) as client:
            while not end.wait(self.config.lease / 6):
                try:
                    self._beat(client)
                except Exception:  # the leases of all depend on it
                    log.exception("the heartbeat failed; it goes on")

    def _beat(self, client: Client) -> None:
        """Renew what has less than two thirds of its lease left."""
        lease, due = self.config.lease, []
        for run in self._runs():
            left = run.left()
            if left <= self.margin:
                run.stop(Cause.LOST)
            if left <= lease * 2 / 3:
                due.append(run)
        for at in range(0, len(due), wire.MAX_ASSIGNMENTS):
            self._extend(client, due[at : at + wire.MAX_ASSIGNMENTS])

    async def _listen_loop(self, client: AsyncClient) -> None:
        """Hear at once which jobs are to stop.

        It asks for those in hand again and again, by requests that wait for that, each a bit shorter than a beat.
        So the heartbeat finds nothing due, but where these are not answered.
        """
        lease, failures = self.config.lease, 0
        most = min(CLAIM_WAIT_MS, round(lease * 1000 / 7))
        while True:
            runs = [run for run in self._runs() if run.job.cause is None]
            if not runs:
                self._busy.clear()
                await self._busy.wait()
                continue
            try:
                while runs:
                    part, runs = runs[: wire.MAX_ASSIGNMENTS], runs[wire.MAX_ASSIGNMENTS :]
                    asked, held, wait = time.monotonic(), [run.job.held for run in part], 0 if runs else most
                    call = client.calls.extend(self.config.name, round(lease * 1000), held, lease / 6, wait_ms=wait)
                    self._renewed(part, await client.send(call), asked)
                failures = 0
            except Exception as err:  # what is not heard comes with the renewals
                log.debug("which jobs are to stop is not heard: %r", err)
                failures += 1
                await asyncio.sleep(pause(failures, err.retry_after if isinstance(err, errors.RametError) else 0.0))

    def _extend(self, client: Client, runs: list[Run]) -> None:
        lease, asked = self.config.lease, time.monotonic()
        held = [run.job.held for run in runs]
        # Bounded, so that a node that hangs does not hide that leases run out.
        call = client.calls.extend(self.config.name, round(lease * 1000), held, lease / 6)
        try:
            states = client.send(call)
        except errors.RametError as err:
            log.warning("leases of %d jobs not renewed: %s", len(runs), err)
            return
        self._renewed(runs, states, asked)

    def _renewed(self, runs: list[Run], states: list[wire.LeaseState], asked: float) -> None:
        """Take in what a node said of leases, from any thread."""
        for run, state in zip(runs, states, strict=False):
            if state == "lost":
                run.stop(Cause.LOST)
                continue
            if state == "cancelled":
                run.stop(Cause.CANCELLED)
            elif state == "timeout":
                run.stop(Cause.TIMEOUT)
            run.until = max(run.until, asked + self.config.lease)  # answers may overtake each other


def _id(run: Run) -> tuple[int, int, int, int]:
    held = run.job.held
    return held["caller"], held["id"], held["attempt"], held.get("started_ms", 0)


def _written(job: Job, outcome: Outcome, lines: list[wire.LogLine]) -> bytes:
    end = outcome.end(job)
    if lines:
        end["lines"] = lines
    return convert.dumps(end).encode("utf-8", "replace")
