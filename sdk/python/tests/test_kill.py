"""Workers and nodes that are killed, go away, hang."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import threading
from collections.abc import Callable

import pytest
from conftest import Node

import ramet

Start = Callable[..., "subprocess.Popen[bytes]"]

TASKS = """
import threading
import ramet

app = ramet.App(context=1)


@app.job("killed")
def killed() -> int:
    job = ramet.current_job()
    job.log(f"attempt {job.attempt}")
    if job.attempt == 1:
        threading.Event().wait()
    return job.attempt


@app.job("hung", timeout=1)
def hung() -> None:
    ramet.current_job().log("begun")
    threading.Event().wait()  # what waits in the system cannot be interrupted
"""


def first_line(app: ramet.App, key: ramet.JobKey) -> str:
    return next(iter(app.client.logs(key)))["line"]


def test_a_job_of_a_killed_worker_goes_to_another(node: Node, python_worker: Start) -> None:
    app = node.app()
    worker = python_worker(node, TASKS, "--lease", "5")
    app.client.register(["killed"])
    handle = app.submit("killed")
    assert first_line(app, handle.key) == "attempt 1"
    worker.kill()
    worker.wait()
    python_worker(node, TASKS, "--lease", "5")
    assert handle.result(60) == {"value": "2"}
    app.close()


def test_a_function_that_hangs_is_left_behind(node: Node, python_worker: Start) -> None:
    app = node.app()
    worker = python_worker(node, TASKS, "--lease", "5", "--grace", "0")
    app.client.register(["hung"])
    handle = app.submit("hung", options=ramet.Options(timeout=1))
    assert handle.wait(60).get("reason") == "timeout"
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(60) == 0
    app.close()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_worker_goes_on_when_the_node_was_started_anew(own_node: Node, how: int) -> None:
    app = own_node.app()
    begun, goes_on = threading.Event(), threading.Event()

    @app.job("through")
    def through(wait: bool) -> int:
        if wait:
            ramet.current_job().log("begun")
            begun.set()
            goes_on.wait()
        return ramet.current_job().attempt

    worker = app.worker(lease=60)
    thread = threading.Thread(target=lambda: asyncio.run(worker.run()))
    thread.start()
    try:
        assert through.submit(wait=False).result(30) == {"value": "1"}
        handle = through.submit(wait=True)
        lines: list[str] = []
        follower = threading.Thread(target=lambda: lines.extend(line["line"] for line in handle.logs()))
        follower.start()
        begun.wait()
        own_node.end(how)  # a claim waits there for more jobs
        goes_on.set()  # it ends while no node answers
        own_node.start()
        assert handle.result(60) == {"value": "1"}
        assert through.submit(wait=False).result(60) == {"value": "1"}  # it polls again
        follower.join()
        # Followed through the restart. A line whose answer was lost with the node is sent once more.
        assert lines in (["begun"], ["begun", "begun"])
    finally:
        goes_on.set()
        worker.stop()
        thread.join()
        app.close()


@pytest.mark.parametrize("is_async", [False, True])
def test_functions_stop_before_the_lease_runs_out_while_no_node_answers(own_node: Node, is_async: bool) -> None:
    app = own_node.app()
    begun = threading.Event()
    told: list[tuple[ramet.Cause | None, type[BaseException]]] = []

    if is_async:

        @app.job("lost")
        async def lost() -> None:
            begun.set()
            try:
                await asyncio.Event().wait()
            except BaseException as err:
                told.append((ramet.current_job().cause, type(err)))
                raise
    else:

        @app.job("lost")
        def lost() -> None:
            begun.set()
            try:
                ramet.current_job().sleep(3600)
            except BaseException as err:
                told.append((ramet.current_job().cause, type(err)))
                raise

    async def body() -> None:
        worker = app.worker(lease=5)
        task = asyncio.create_task(worker.run())
        await lost.asubmit()
        await asyncio.to_thread(begun.wait)
        own_node.end(signal.SIGKILL)
        worker.stop()
        await task
        await app.aclose()

    asyncio.run(body())
    assert told == [(ramet.Cause.LOST, asyncio.CancelledError if is_async else ramet.Stopped)]
