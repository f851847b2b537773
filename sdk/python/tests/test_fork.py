"""What a process that was forked off makes of the clients that it finds: web servers and multiprocessing do that."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import ramet
from ramet.steps import Memory, steps_here
from ramet.token import KeyFile

KEY = ramet.JobKey(1, 2)


@pytest.fixture
def here() -> Iterator[str]:
    """The address of a server that answers with the connection by which it was asked."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = json.dumps({"connection": self.client_address[1]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()


def in_child(ask: Callable[[], object]) -> str:
    """Fork, and give what a function gives there; one that hangs is killed."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        try:
            os.write(write, str(ask()).encode())
        except BaseException as err:
            os.write(write, repr(err).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as said:
        text = said.read().decode()
    os.waitpid(child, 0)
    return text


def connection(job: Any) -> str:
    return str(job["connection"])


def test_a_client_of_a_forked_process_has_connections_of_its_own(here: str) -> None:
    app = ramet.App(url=here, context=1, token="t")

    def ask() -> str:
        return connection(app.client.show(KEY))

    own = ask()
    children = [in_child(lambda: [ask(), ask()]) for _ in range(2)]
    assert own == ask()  # which the children have not closed
    for child in children:
        first, again = json.loads(child.replace("'", '"'))
        assert first == again != own
    app.close()


def test_a_forked_process_cuts_no_connections_of_the_other(here: str) -> None:
    """What is known of several nodes' connections is of one process, too: a node that hangs has them cut."""
    place = ramet.Place([here, here], token="t")
    client = ramet.Client(place, 1)
    own = connection(client.show(KEY))
    place.nodes[0].asked[object()] = 0.0  # that of another thread

    def cut() -> bool:
        client.show(KEY)
        asked = [node.asked for node in place.nodes]
        for node in place.nodes:
            node.cut()
        return asked == [{}, {}]

    assert in_child(cut) == "True"
    place.nodes[0].asked.clear()
    assert connection(client.show(KEY)) == own
    client.close()


def test_an_async_client_of_a_forked_process_has_connections_of_its_own(here: str) -> None:
    loop = asyncio.new_event_loop()
    client = ramet.AsyncClient(ramet.Place(here, token="t"), 1)
    own = connection(loop.run_until_complete(client.show(KEY)))
    child = in_child(lambda: connection(asyncio.run(client.show(KEY))))
    assert child.isdecimal()
    assert child != own
    assert own == connection(loop.run_until_complete(client.show(KEY)))
    loop.run_until_complete(client.close())
    loop.close()


def test_a_lock_that_was_held_when_the_process_was_forked_holds_up_nobody(here: str, tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(json.dumps({"actor": 1, "private_key": "00" * 32}))
    app, key = ramet.App(url=here, context=1, token="t"), KeyFile(file, "nina")
    with app._locks.get(), key._locks.get():  # as another thread might
        child = in_child(lambda: [connection(app.client.show(KEY)).isdecimal(), key().count(".")])
    assert child == "[True, 2]"


def test_a_worker_that_was_made_before_the_fork_does_not_run() -> None:
    app = ramet.App(url="http://127.0.0.1:1", context=1, token="t")
    app.job("forked")(lambda: None)
    worker = app.worker()
    assert "make one in each process" in in_child(lambda: asyncio.run(worker.run()))


def test_what_a_function_forks_is_ended_without_the_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """As multiprocessing ends its children: by SIGTERM, which stops workers."""
    app = ramet.App(url="http://127.0.0.1:1", context=1, token="t")
    ends: list[int] = []

    @app.job("forks")
    def forks() -> None:
        for _ in range(20):  # now and then the signal comes before the child has begun
            child = os.fork()
            if child == 0:
                signal.alarm(20)
                while True:
                    signal.pause()
            os.kill(child, signal.SIGTERM)
            ends.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            if ends[-1] != -signal.SIGTERM:
                break

    job = {"caller_id": 1, "id": 2, "script_type": "forks", "script": "{}"}
    jobs = [[{"job": job, "attempt": 1, "lease_ms": 600_000, "timeout_ms": 0}]]
    stops: list[int] = []

    async def send(self: ramet.AsyncClient, call: Any) -> Any:
        if call.path.endswith("/finish"):
            stops.append(worker._stops)
            worker.stop()
            return [{"status": "finished"}]
        if not jobs:
            await asyncio.Event().wait()
        return jobs.pop()

    monkeypatch.setattr(ramet.AsyncClient, "send", send)
    worker = app.worker(lease=600)
    before = signal.getsignal(signal.SIGTERM)
    asyncio.run(worker.run(signals=True))
    assert (ends, stops) == ([-signal.SIGTERM] * 20, [0])
    assert signal.getsignal(signal.SIGTERM) == before


def test_what_a_function_forks_does_not_wait_for_steps_for_ever() -> None:
    async def nobody(ask: Any) -> Any:
        raise AssertionError

    loop = asyncio.new_event_loop()
    steps = steps_here(Memory({"caller": 1, "id": 2, "attempt": 1}, nobody), loop)
    assert "ask in the function itself" in in_child(steps.now)
    loop.close()
