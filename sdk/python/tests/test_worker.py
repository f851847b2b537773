"""The worker in this process, against a real node."""

from __future__ import annotations

import asyncio
import json
import logging
import random
import threading
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, TypedDict

import pytest
from conftest import Node

import ramet
from ramet.calls import Call
from ramet.job import Job
from ramet.testing import make_job
from ramet.threads import Threads
from ramet.worker import Run, Worker


def run(body: Any) -> None:
    """Run a test's coroutine; what hangs fails with the time of the whole."""
    asyncio.run(asyncio.wait_for(body, 60))


@asynccontextmanager
async def working(app: ramet.App, **config: Any) -> AsyncIterator[ramet.Worker]:
    """Have a worker run until the end of a block, and look at how it ended."""
    worker = app.worker(**config)
    task = asyncio.create_task(worker.run())
    try:
        yield worker
    finally:
        worker.stop()
        await task
        await app.aclose()


class Mail(TypedDict):
    to: str


@dataclass
class Receipt:
    to: str
    sent: int


def test_functions_of_all_kinds_run_and_return(node: Node) -> None:
    app = node.app()

    @app.job("kinds-plain", retries=3, timeout=60)
    def plain(to: str, n: int = 1) -> Receipt:
        return Receipt(to, n)

    @app.job("kinds-async")
    async def coroutine(mail: Mail) -> str:
        await asyncio.sleep(0)
        return mail["to"]

    async def body() -> None:
        async with working(app):
            first = await plain.asubmit(to="x", n=2)
            assert await first.result(30) == {"to": "x", "sent": "2"}
            job = await first.show()
            assert (job["retries"], job["timeout"]) == (3, 60)
            assert await (await coroutine.asubmit({"to": "y"})).result(30) == {"value": "y"}
            assert await (await app.asubmit("kinds-plain", {"to": "z"})).result(30) == {"to": "z", "sent": "1"}

    assert plain("here") == Receipt("here", 1)  # it is still the function
    assert asyncio.run(coroutine({"to": "here"})) == "here"
    run(body())


def test_without_asyncio_a_job_is_submitted_followed_listed_and_explained(node: Node) -> None:
    app = node.app()

    @app.job("plainly")
    def plainly(n: int) -> int:
        ramet.current_job().log(f"got {n}")
        return n + 1

    handle = plainly.submit(1)  # the node did not know the type
    assert handle.explain()["status"] == "dispatched"
    assert handle.key in [ramet.JobKey(j["caller_id"], j["id"]) for j in app.client.list(type="plainly")]
    with pytest.raises(TimeoutError):
        handle.wait(0.01)
    worker = app.worker()
    thread = threading.Thread(target=lambda: asyncio.run(worker.run()))
    thread.start()
    try:
        assert [line["line"] for line in handle.logs()] == ["got 1"]
        assert handle.result(30) == {"value": "2"}
        assert [line["line"] for line in handle.log_page()] == ["got 1"]
        assert handle.log_page(1) == []
    finally:
        worker.stop()
        thread.join()
        app.close()


def test_many_are_submitted_at_once_and_judged_alone(node: Node) -> None:
    app = node.app()

    @app.job("many")
    async def many(n: int) -> int:
        return n

    async def body() -> None:
        async with working(app, concurrency=512):
            bad = many.using(priority=77).job(0)
            handles = await app.asubmit_many([*[many.job(n) for n in range(600)], bad])
            assert isinstance(handles.pop(), ramet.Invalid)
            results = await asyncio.gather(*(h.result(30) for h in handles if isinstance(h, ramet.AsyncHandle)))
            assert results == [{"value": str(n)} for n in range(600)]

    run(body())


def test_an_idempotency_key_makes_one_job_of_two_submits(node: Node) -> None:
    app = node.app()

    @app.job("once")
    def once(n: int) -> None: ...

    keyed = once.using(key="once-1")
    assert keyed.submit(1).key == keyed.submit(1).key
    with pytest.raises(ramet.Conflict):
        keyed.submit(2)
    assert once.submit(1).key != once.submit(1).key
    app.close()


def test_each_option_is_in_the_job(node: Node) -> None:
    app = node.app()
    retry: ramet.wire.Retry = {"delay": 60, "factor": 3, "max_delay": 3600, "jitter": 0.5, "on": ["failed"]}

    @app.job("optional", retries=2, retry=retry, timeout=50, priority=3, affinity={"a": "b"}, env={"WHO": "me"})
    def optional() -> None: ...

    first = optional.submit()
    more: dict[str, Any] = {
        "id": 7001,
        "key": "optional-1",
        "not_before": datetime(2100, 1, 1, tzinfo=timezone.utc),
        "depends": [first.key],
        "prerequisites": ["file:in.csv"],
        "prerequisite_timeout": 70.4,
        "trace_id": "0af7651916cd43dd8448eb211c80319c",
        "for_runner": 20,
        "at": "7@acme",
    }
    own = {name for name, value in vars(optional.options).items() if value is not None}
    assert own | more.keys() == set(ramet.Options.__dataclass_fields__)
    want = {
        "script_type": "optional",
        "script": "{}",
        "retries": 2,
        "retry": retry,
        "timeout": 50,
        "priority": 3,
        "affinity": {"a": "b"},
        "env_vars": {"WHO": "me"},
        "id": 7001,
        "not_before": 4102444800000,
        "dependends": [first.key.id],
        "prerequisites": ["file:in.csv"],
        "prerequisite_timeout": 70,
        "trace_id": "0af7651916cd43dd8448eb211c80319c",
        "for_runner": 20,
        "at": "7@acme",
    }
    assert optional.using(**more).job() == want
    job = optional.using(**{**more, "for_runner": None, "at": None, "prerequisites": None}).submit().show()
    assert (job["id"], job["retry"], job["not_before"], job["dependends"]) == (
        7001,
        retry,
        4102444800000,
        [first.key.id],
    )
    app.close()


def test_errors_say_what_becomes_of_the_job(node: Node) -> None:
    app = node.app()
    tries: list[str] = []

    @app.job("errors", retries=2)
    def errors(kind: str) -> str:
        tries.append(kind)
        if kind == "fail":
            raise ramet.Fail("no such address")
        if kind == "later" and ramet.current_job().attempt == 1:
            raise ramet.RetryAfter(0.01, "busy")
        if kind == "bug":
            raise KeyError("x")
        return "done"

    async def body() -> None:
        async with working(app):
            failed = await (await errors.asubmit("fail")).wait(30)
            assert (failed["status"], failed.get("error")) == ("error", "no such address")
            assert await (await errors.asubmit("later")).result(30) == {"value": "done"}
            bug = await errors.using(retries=0).asubmit("bug")
            with pytest.raises(ramet.JobFailed, match="KeyError: 'x'"):
                await bug.result(30)
            assert any("Traceback" in line["line"] for line in await bug.log_page())
            unread = await (await app.asubmit("errors", {"kind": 7})).wait(30)
            assert unread.get("error", "").endswith("kind: want a text, got 7")
            assert unread.get("attempt") == 1

    run(body())
    assert tries == ["fail", "later", "later", "bug"]


@pytest.mark.parametrize("is_async", [False, True])
def test_a_function_is_told_that_its_job_was_cancelled(node: Node, is_async: bool) -> None:
    app = node.app()
    running, told = threading.Event(), []

    if is_async:

        @app.job("cancelled-async")
        async def hangs() -> None:
            running.set()
            try:
                await asyncio.Event().wait()
            finally:
                told.append(ramet.current_job().cause)
    else:

        @app.job("cancelled")
        def hangs() -> None:
            running.set()
            try:
                while True:  # never looks whether it should stop
                    time.sleep(0.001)
            finally:
                told.append(ramet.current_job().cause)

    async def body() -> None:
        async with working(app, lease=600):  # no renewal would bring it in time
            handle = await hangs.asubmit()
            await asyncio.to_thread(running.wait)
            await handle.cancel()
            assert (await handle.wait(30)).get("reason") == "cancelled"

    run(body())
    assert told == [ramet.Cause.CANCELLED]


def test_a_worker_that_stops_is_listed_no_more(node: Node) -> None:
    app = node.app()
    names: list[str] = []

    @app.job("leaves")
    def leaves() -> None:
        runners = app.client.send(Call("GET", "/v1/runners", dict, query={"context": 1}))
        names.append(" ".join(str(r.get("worker")) for r in runners["runners"]))

    async def body() -> None:
        async with working(app, name="leaver"):
            await (await leaves.asubmit()).result(30)
        leaves()

    run(body())
    assert [("leaver" in listed.split()) for listed in names] == [True, False]


@pytest.mark.parametrize("is_async", [False, True])
def test_a_function_that_takes_too_long_is_told_so(node: Node, is_async: bool) -> None:
    app = node.app()

    if is_async:

        @app.job("late-async", timeout=1)
        async def late() -> None:
            await asyncio.Event().wait()
    else:

        @app.job("late", timeout=1)
        def late() -> None:
            ramet.current_job().sleep(3600)

    async def body() -> None:
        async with working(app):
            assert (await (await late.asubmit()).wait(30)).get("reason") == "timeout"

    run(body())


def test_what_is_logged_is_followed_while_the_job_runs(node: Node) -> None:
    app = node.app()
    log = logging.getLogger("test.followed")
    log.setLevel(logging.INFO)
    seen = asyncio.Event()

    @app.job("followed")
    async def followed() -> None:
        log.info("begun\nin two lines")
        await seen.wait()
        log.warning("ü" * 9000)

    async def body() -> None:
        async with working(app):
            handle, lines = await followed.asubmit(), []
            async for line in handle.logs():
                lines.append((line["stream"], line["line"]))
                seen.set()
            assert lines[:2] == [("stdout", "begun"), ("stdout", "in two lines")]
            assert {stream for stream, _ in lines[2:]} == {"stderr"}
            assert "".join(text for _, text in lines[2:]) == "ü" * 9000
            log.info("outside of jobs: nobody's")

    run(body())


async def log_of(handle: ramet.AsyncHandle) -> list[str]:
    """Read a job's log once the job has ended."""
    assert (await handle.wait(60))["status"] == "finished"
    lines: list[str] = []
    while page := await handle.log_page(len(lines)):
        lines += [line["line"] for line in page]
    return lines


MISSING = "{} lines are missing here: they could not be sent"


@pytest.mark.parametrize(("count", "size"), [(1001, 1), (200, 3000), (100, 9000), (10_000, 1)])
def test_all_lines_come_with_the_end(node: Node, count: int, size: int) -> None:
    app, lines = node.app(), [str(n).ljust(size, ".") for n in range(count)]

    @app.job(f"wordy-{count}")
    def wordy() -> None:
        for line in lines:
            ramet.current_job().log(line)

    @app.job(f"wordy-async-{count}")
    async def wordy_async() -> None:  # nothing is sent before it ends: it does not let go of the loop
        for line in lines:
            ramet.current_job().log(line)

    async def body() -> None:
        async with working(app):
            assert await log_of(await wordy.asubmit()) == lines
            assert await log_of(await wordy_async.asubmit()) == lines

    run(body())


def test_what_is_no_text_is_a_line_all_the_same(node: Node) -> None:
    app = node.app()

    @app.job("no-text")
    def no_text() -> None:
        for n in range(5000):
            ramet.current_job().log(f"line {n} \x00 \ud800")

    async def body() -> None:
        async with working(app):
            # What moves a terminal is a space.
            assert await log_of(await no_text.asubmit()) == [f"line {n}   ?" for n in range(5000)]

    run(body())


def test_missing_lines_are_told_of_where_they_are(node: Node) -> None:
    app = node.app()
    seen = asyncio.Event()

    @app.job("too-wordy")
    async def too_wordy() -> None:
        ramet.current_job().log("first")
        await seen.wait()
        for n in range(60_000):  # without letting go of the loop, so that no line is sent meanwhile
            ramet.current_job().log(f"line {n}")

    async def body() -> None:
        async with working(app):
            handle = await too_wordy.asubmit()
            async for line in handle.logs():
                assert line["line"] == "first"
                break
            seen.set()
            kept = [f"line {n}" for n in range(50_000, 60_000)]
            assert await log_of(handle) == ["first", MISSING.format(50_000), *kept]

    run(body())


def test_lines_that_were_on_their_way_in_vain_are_missing_with_those_behind_them() -> None:
    def write(job: Job, *numbers: int) -> None:
        for n in range(*numbers):
            job.log(f"line {n}")

    def texts(lines: list[ramet.wire.LogLine]) -> list[str]:
        return [line["line"] for line in lines]

    job = make_job()
    write(job, 10)
    first = job.take()
    assert texts(first) == [f"line {n}" for n in range(10)]
    assert [line["n"] for line in first] == list(range(1, 11))
    write(job, 10, 20)
    job.unsent()
    assert texts(job.take()) == [f"line {n}" for n in range(20)]
    write(job, 20, 10_025)
    job.unsent()
    behind = job.take()
    assert texts(behind) == [MISSING.format(25), *[f"line {n}" for n in range(25, 1024)]]
    assert [line["n"] for line in behind[:2]] == [25, 26]  # the mark has the number of the last missing one
    assert job.sent()
    assert texts(job.close()) == [MISSING.format(8002), *[f"line {n}" for n in range(9026, 10_025)]]


@pytest.mark.parametrize("refused", [ramet.Exhausted, ramet.Invalid])
def test_a_node_that_refuses_lines_at_the_end_is_asked_again_when_it_says_or_not_at_all(
    node: Node, monkeypatch: pytest.MonkeyPatch, refused: type[ramet.ApiError]
) -> None:
    name = f"hesitant-{refused.__name__.lower()}"
    app, refusals, pauses = node.app(), [60.0, 3600.0], list[float]()
    send = ramet.AsyncClient.send

    async def hesitant(self: ramet.AsyncClient, call: Any) -> Any:
        if call.path.endswith("/log") and refusals:
            err = refused({"code": name, "status": 400, "detail": "not now"})
            err.retry_after = refusals.pop(0)
            raise err
        return await send(self, call)

    def at_once(_: int, at_least: float = 0.0) -> float:
        pauses.append(at_least)
        return 0.0

    monkeypatch.setattr(ramet.AsyncClient, "send", hesitant)
    monkeypatch.setattr("ramet.worker.pause", at_once)

    @app.job(name)
    async def wordy() -> None:
        for n in range(2001):
            ramet.current_job().log(f"line {n}")

    async def body() -> None:
        async with working(app, lease=300):
            lines = await log_of(await wordy.asubmit())
        if refused is ramet.Invalid:
            assert lines == [MISSING.format(1002), *[f"line {n}" for n in range(1002, 2001)]]
            return
        assert lines == [f"line {n}" for n in range(2001)]
        assert pauses[0] == 60.0
        assert 60.0 < pauses[1] <= 75.0  # half of the time that lines have, which is half of the lease

    run(body())


def test_who_is_told_to_stop_while_the_last_lines_are_sent_has_ended_all_the_same(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, runs, send = node.app(), list[Run](), ramet.AsyncClient.send
    run_async = Run.call_async

    async def kept(self: Run, f: Any) -> Any:
        runs.append(self)
        return await run_async(self, f)

    async def stopped(self: ramet.AsyncClient, call: Any) -> Any:
        if call.path.endswith("/log"):
            runs[0].stop(ramet.Cause.CANCELLED)
        return await send(self, call)

    monkeypatch.setattr(Run, "call_async", kept)
    monkeypatch.setattr(ramet.AsyncClient, "send", stopped)

    @app.job("stopped-late")
    async def stopped_late() -> None:
        for n in range(1001):
            ramet.current_job().log(f"line {n}")

    async def body() -> None:
        async with working(app):
            assert await log_of(await stopped_late.asubmit()) == [f"line {n}" for n in range(1001)]

    run(body())


def test_an_answer_of_10_mb_is_refused_with_a_clear_error(node: Node) -> None:
    app = node.app()

    @app.job("large", retries=5)
    def large(n: int) -> str:
        return "x" * n

    async def body() -> None:
        async with working(app):
            job = await (await large.asubmit(10 << 20)).wait(30)
            assert (job["status"], job.get("attempt")) == ("error", 1)
            assert "the limit is 524288" in job.get("error", "")
            assert len((await (await large.asubmit(500_000)).result(30))["value"]) == 500_000

    run(body())
    with pytest.raises(ramet.Limit, match="the limit is 8388608"):
        app.submit("large", {"n": "x" * (9 << 20)})
    app.close()


def test_an_error_and_lines_of_10_mb_cost_the_job_nothing_else(node: Node) -> None:
    app = node.app()

    @app.job("large-error", retries=1)
    def large_error() -> None:
        raise ValueError("why: " + "\x00" * (10 << 20))

    @app.job("large-line", retries=1)
    def large_line() -> int:
        for _ in range(2):
            ramet.current_job().log("\x00" * (10 << 20))
        ramet.current_job().log("the last")
        return 1

    async def body() -> None:
        async with working(app):
            failed, logged = await large_error.asubmit(), await large_line.asubmit()
            job = await failed.wait(60)
            assert (job["status"], job.get("attempt"), job.get("losses", 0)) == ("error", 2, 0)
            assert job.get("error", "").startswith("ValueError: why: ")
            job = await logged.wait(60)
            assert (job["status"], job.get("attempt"), job.get("error", "")) == ("finished", 1, "")

    run(body())
    app.close()


def test_an_end_that_is_too_large_does_not_take_others_with_it(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ramet.function.MAX_RESULT_BYTES", 20 << 20)
    monkeypatch.setattr("ramet.worker.END_ROOM", 50 << 20)
    app = node.app()
    all_run = threading.Barrier(4)

    @app.job("one-of-four")
    def one_of_four(size: int) -> str:
        all_run.wait()
        return "x" * size

    async def body() -> None:
        async with working(app):
            handles = [await one_of_four.asubmit(size) for size in (1, 9 << 20, 2, 3)]
            jobs = [await handle.wait(60) for handle in handles]
            assert [job["status"] for job in jobs] == ["finished", "error", "finished", "finished"]
            assert "its end was not taken" in jobs[1].get("error", "")
            assert [job.get("attempt") for job in jobs] == [1, 1, 1, 1]

    run(body())
    app.close()


def test_what_the_node_does_not_take_becomes_a_failure_that_says_so(node: Node) -> None:
    app = node.app()

    @app.job("odd-key")
    def odd() -> dict[str, str]:
        return {"k" * 300: "v"}

    async def body() -> None:
        async with working(app):
            job = await (await odd.asubmit()).wait(30)
            assert "its end was not taken" in job.get("error", "")

    run(body())


def test_functions_have_their_time_when_the_worker_stops_and_then_go_back(node: Node) -> None:
    app = node.app()
    begun, other_begun, goes_on = threading.Event(), threading.Event(), asyncio.Event()
    runs: list[int] = []

    @app.job("graceful")
    async def graceful() -> str:
        begun.set()
        await goes_on.wait()
        return "in time"

    @app.job("goes-back")
    def goes_back() -> str:
        runs.append(ramet.current_job().attempt)
        other_begun.set()
        if len(runs) == 1:
            ramet.current_job().sleep(3600)
        return "the second time"

    async def body() -> None:
        worker = app.worker(grace=3600)
        task = asyncio.create_task(worker.run())
        handle, other = await graceful.asubmit(), await goes_back.asubmit()
        await asyncio.to_thread(begun.wait)
        await asyncio.to_thread(other_begun.wait)
        worker.stop()
        goes_on.set()
        assert await handle.result(30) == {"value": "in time"}
        worker.stop()  # again: at once
        await task
        async with working(app):
            assert await other.result(30) == {"value": "the second time"}
            assert (await other.show()).get("failures", 0) == 0

    run(body())


def test_a_function_that_does_not_listen_is_left_behind_when_its_lease_is_over(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    app = ramet.App(url="http://127.0.0.1:1", context=1, token="t")
    begun, done = threading.Event(), threading.Event()

    @app.job("deaf")
    def deaf() -> None:
        begun.set()
        done.wait()

    job = {"caller_id": 1, "id": 2, "script_type": "deaf", "script": "{}"}
    jobs = [[{"job": job, "attempt": 1, "lease_ms": 600_000, "timeout_ms": 0}]]

    async def send(self: ramet.AsyncClient, call: Any) -> Any:
        if not jobs:
            await asyncio.Event().wait()
        return jobs.pop()

    monkeypatch.setattr(ramet.AsyncClient, "send", send)

    async def body() -> None:
        worker = app.worker(grace=0)
        object.__setattr__(worker.config, "lease", 0.5)
        task = asyncio.create_task(worker.run())
        await asyncio.to_thread(begun.wait)
        worker.stop()
        await task

    try:
        run(body())
        assert not done.is_set()
        assert "left behind: job:1:2" in caplog.text
    finally:
        done.set()


def test_a_function_that_holds_up_the_loop_keeps_its_lease(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    app = node.app()
    renewed = threading.Event()
    until: list[float] = []
    extend = Worker._extend

    def watched(self: Worker, client: ramet.Client, runs: list[Run]) -> None:
        before = [run.until for run in runs]
        extend(self, client, runs)
        until.extend(run.until - old for run, old in zip(runs, before, strict=True))
        renewed.set()

    monkeypatch.setattr(Worker, "_extend", watched)

    @app.job("holds-up")
    async def holds_up() -> int:
        renewed.wait()
        return ramet.current_job().attempt

    async def body() -> None:
        async with working(app, lease=5):
            assert await (await holds_up.asubmit()).result(30) == {"value": "1"}

    run(body())
    assert until[0] > 0


def test_an_end_whose_answer_was_lost_is_handed_in_again(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    app = node.app()
    send, finishes = ramet.AsyncClient.send, []

    async def loses(self: ramet.AsyncClient, call: Any) -> Any:
        answer = await send(self, call)
        if call.path.endswith("/finish"):
            finishes.append(call.body)
            if len(finishes) == 1:
                raise ramet.Unreachable("the answer was lost")
        return answer

    monkeypatch.setattr(ramet.AsyncClient, "send", loses)

    @app.job("lost-answer")
    async def lost_answer() -> int:
        return ramet.current_job().attempt

    async def body() -> None:
        async with working(app):
            assert await (await lost_answer.asubmit()).result(30) == {"value": "1"}

    run(body())
    assert len(finishes) == 2
    assert finishes[0] == finishes[1]


@pytest.mark.parametrize(("said", "least", "most"), [(3.0, 3.0, 3.0), (30.0, 0.1, 15.0), (0.0, 0.0, 0.0)])
def test_an_end_is_handed_in_again_when_the_node_says_but_before_its_lease_runs_out(
    node: Node, monkeypatch: pytest.MonkeyPatch, said: float, least: float, most: float
) -> None:
    app = node.app()
    send = ramet.AsyncClient.send
    refused: list[bytes] = []
    rests: list[float] = []

    async def refuses(self: ramet.AsyncClient, call: Any) -> Any:
        if call.path.endswith("/finish") and not refused:
            refused.append(call.body)
            problem = ramet.Exhausted({"detail": "busy", "code": "exhausted"})
            problem.retry_after = said
            raise problem
        return await send(self, call)

    def noted(failures: int, at_least: float = 0.0) -> float:
        rests.append(at_least)
        return 0.0

    monkeypatch.setattr(ramet.AsyncClient, "send", refuses)
    monkeypatch.setattr(ramet.worker, "pause", noted)

    @app.job("refused-end")
    async def refused_end() -> int:
        return ramet.current_job().attempt

    async def body() -> None:
        async with working(app, lease=30):
            assert await (await refused_end.asubmit()).result(30) == {"value": "1"}

    run(body())
    assert len(refused) == 1
    assert least <= rests[0] <= most


def test_a_lease_that_is_given_up_goes_back_at_once_and_counts_as_a_loss(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = node.app()

    @app.job("given-up")
    async def given_up() -> int:
        return ramet.current_job().attempt

    looked: list[ramet.Job] = []

    def late(self: Run) -> None:
        if not looked:  # the first is too late for its lease
            self.job.stop(ramet.Cause.LOST)
        looked.append(self.job)

    monkeypatch.setattr(Run, "look", late)

    async def body() -> None:
        async with working(app, lease=600):
            job = await (await given_up.asubmit()).wait(30)
            assert (job["status"], job["attempt"], job["losses"]) == ("finished", 2, 1)

    run(body())


@pytest.mark.parametrize("lease", [5, 30, 600])
def test_a_job_that_came_at_the_end_of_a_long_poll_has_most_of_its_lease_left(lease: int) -> None:
    app = ramet.App(context=1)
    app.job("late-in-poll")(lambda: None)
    ask = app.worker(lease=lease)._ask
    assert 1000 <= ask["wait_ms"] <= lease * 1000 / 3


@pytest.mark.parametrize("concurrency", [1, 2, 4, 64])
def test_each_burst_is_served_however_claims_and_ends_meet(monkeypatch: pytest.MonkeyPatch, concurrency: int) -> None:
    """Slots that a claim took and did not need wake who waits for one."""
    app = ramet.App(url="http://127.0.0.1:1", context=1, token="t")
    chance = random.Random(concurrency)

    @app.job("burst")
    async def burst() -> None:
        await some_turns()

    async def some_turns() -> None:
        for _ in range(chance.randrange(4)):
            await asyncio.sleep(0)

    def assignment(number: int) -> dict[str, Any]:
        job = {"caller_id": 1, "id": number, "script_type": "burst", "script": "{}"}
        return {"job": job, "attempt": 1, "lease_ms": 600_000, "timeout_ms": 0}

    async def body() -> None:
        worker = app.worker(concurrency=concurrency, lease=600)
        queue: deque[dict[str, Any]] = deque()
        there, served = asyncio.Event(), asyncio.Event()
        left = 0

        async def send(self: ramet.AsyncClient, call: Any) -> Any:
            nonlocal left
            if call.path.endswith("/leave"):
                return None
            ask = json.loads(call.body)
            await some_turns()
            if call.path.endswith("/extend"):  # it asks which jobs are to stop, and none is
                await asyncio.sleep(ask.get("wait_ms", 0) / 1000)
                return ["renewed" for _ in ask["jobs"]]
            if call.path.endswith("/claim"):
                while not queue and ask["wait_ms"]:
                    there.clear()
                    await there.wait()
                taken = [queue.popleft() for _ in range(min(len(queue), ask["max"]))]
                await some_turns()
                return taken
            left -= len(ask["jobs"])
            if left == 0:
                served.set()
            return [{"status": "finished"} for _ in ask["jobs"]]

        monkeypatch.setattr(ramet.AsyncClient, "send", send)
        task = asyncio.create_task(worker.run())
        for n in range(200):
            served.clear()
            left = chance.randint(1, 3 * concurrency)
            queue.extend(assignment(1000 * n + i) for i in range(left))
            there.set()
            await asyncio.wait_for(served.wait(), 10)
        worker.stop()
        await task

    run(body())


@pytest.mark.parametrize("concurrency", [1, 2, 4, 64])
def test_bursts_that_come_one_after_the_other_are_served(node: Node, concurrency: int) -> None:
    app = node.app()

    @app.job(f"bursts-{concurrency}")
    def served() -> None: ...

    async def body() -> None:
        async with working(app, concurrency=concurrency):
            for size in [1] * 10 + [3 * concurrency] * 3 + [1]:
                for handle in await app.asubmit_many([served.job() for _ in range(size)]):
                    assert isinstance(handle, ramet.AsyncHandle)
                    assert (await handle.wait(10))["status"] == "finished"

    run(body())


def test_claims_go_on_after_errors_that_nobody_expected(monkeypatch: pytest.MonkeyPatch) -> None:
    app = ramet.App(url="http://127.0.0.1:1", context=1, token="t")
    app.job("surprised")(lambda: None)
    assignment = {
        "job": {"caller_id": 1, "id": 2, "script_type": "surprised", "script": "{}"},
        "attempt": 1,
        "lease_ms": 30_000,
        "timeout_ms": 60_000,
    }
    answers: list[Any] = [ValueError("a header"), None, [{}], [assignment]]
    asked: list[int] = []

    async def body() -> None:
        worker = app.worker(concurrency=3)

        async def send(self: ramet.AsyncClient, call: Any) -> Any:
            if call.path.endswith("/leave"):
                return None
            assert call.path.endswith("/claim")
            asked.append(json.loads(call.body)["max"])
            if not answers:
                worker.stop()
                await asyncio.Event().wait()
            answer = answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer

        def start(self: Threads, work: Any) -> None:
            raise RuntimeError("can't start new thread")

        monkeypatch.setattr(ramet.AsyncClient, "send", send)
        monkeypatch.setattr(Threads, "start", start)
        monkeypatch.setattr("ramet.worker.pause", lambda failures, at_least=0.0: 0.0)
        await worker.run()
        assert (worker._free, worker._held) == (3, {})

    run(body())
    assert answers == []
    assert asked == [3] * 5  # each had all slots again


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_function_does_not_begin_under_a_lease_that_ran_out(
    node: Node, monkeypatch: pytest.MonkeyPatch, asynchronous: bool
) -> None:
    """The worker was held up after the node had given it the job, and another might have had it since."""
    app, name = node.app(), "held-up-async" if asynchronous else "held-up"
    attempts: list[int] = []

    def begun() -> None:
        attempts.append(ramet.current_job().attempt)

    async def begun_async() -> None:
        begun()

    f = app.job(name)(begun_async if asynchronous else begun)
    init = Run.__init__

    def held_up(self: Run, worker: Worker, assignment: ramet.wire.Assignment, asked: float) -> None:
        init(self, worker, assignment, asked - (60 if assignment["attempt"] == 1 else 0))

    monkeypatch.setattr(Run, "__init__", held_up)

    async def body() -> None:
        async with working(app, lease=5):
            await (await f.asubmit()).result(50)

    run(body())
    assert attempts == [2]


def test_a_clock_that_is_an_hour_off_changes_nothing(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    token = node.token()
    app = ramet.App(url=node.url, context=1, token=token)

    @app.job("clock", timeout=60)
    def clock() -> float:
        return time.time()

    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() - 3600)

    async def body() -> None:
        async with working(app, lease=5):
            handle = await clock.asubmit()
            assert float((await handle.result(30))["value"]) < now() - 3000

    run(body())


def test_an_app_without_functions_and_a_worker_that_asks_for_too_much_are_refused(node: Node) -> None:
    app = node.app()
    with pytest.raises(ramet.RametError, match="no functions"):
        app.run()
    with pytest.raises(ValueError, match="5 to 600"):
        app.worker(lease=1)

    @app.job("Not A Type")
    def f() -> None: ...

    with pytest.raises(ramet.Invalid, match="lower-case"):
        asyncio.run(app.worker().run())


def test_ends_twice_and_of_others_jobs(node: Node) -> None:
    app = node.app()

    @app.job("twice")
    def twice() -> None: ...

    handle, client = twice.submit(), app.client
    (a,) = client.send(client.calls.claim("w1", {"types": ["twice"]}))
    held = ramet.Job(a).held
    end = b'{"caller":%d,"id":%d,"attempt":1,"verdict":"succeeded"}' % (held["caller"], held["id"])
    (others,) = client.send(client.calls.finish("w2", [end]))
    assert others["problem"]["code"] == "conflict"
    for _ in range(2):
        (done,) = client.send(client.calls.finish("w1", [end]))
        assert done["status"] == "finished"
    with pytest.raises(ramet.Conflict):
        client.send(client.calls.log("w2", held, [{"line": "x"}]))
    assert handle.show()["status"] == "finished"
    app.close()
