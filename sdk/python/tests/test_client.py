"""What clients repeat, and how errors come out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from conftest import Node

import ramet
from ramet import calls
from ramet.process import PerProcess

PLACE = ramet.Place("http://nina:7480", token="t")
JOB: Any = {"script_type": "x"}
KEY = ramet.JobKey(1, 2)
DONE = {"id": 2, "caller_id": 1, "status": "finished", "result": {}}


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ramet.client.pause", lambda *_: 0.0)


def answering(*answers: Any) -> tuple[ramet.Client, list[httpx.Request]]:
    """A client of a node that gives these answers, one after the other."""
    asked: list[httpx.Request] = []
    left = list(answers)

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        a = left.pop(0)
        if isinstance(a, Exception):
            raise a
        status, body = a
        return httpx.Response(status, content=body) if isinstance(body, bytes) else httpx.Response(status, json=body)

    client = ramet.Client(PLACE, 7)
    transport = httpx.MockTransport(answer)
    client._pool = PerProcess(lambda: httpx.Client(base_url="http://nina:7480", transport=transport))
    return client, asked


def problem(code: str, status: int) -> tuple[int, dict[str, Any]]:
    return status, {"code": code, "status": status, "title": "t", "detail": "why", "request_id": "r"}


@pytest.mark.parametrize("failure", [httpx.ConnectError("no"), problem("unavailable", 503), problem("exhausted", 429)])
@pytest.mark.parametrize(
    ("repeated", "ask"),
    [
        (True, lambda c: c.show(KEY)),
        (True, lambda c: c.submit(JOB, key="k")),
        (True, lambda c: c.register(["x"])),
        (False, lambda c: c.submit(JOB)),
        (False, lambda c: c.cancel(KEY)),
        (False, lambda c: c.send(c.calls.claim("w", {"types": ["x"]}))),
    ],
)
def test_what_is_safe_is_repeated_and_nothing_else(failure: Any, repeated: bool, ask: Callable[..., Any]) -> None:
    client, asked = answering(failure, (200, {**DONE, "jobs": [{"key": "job:1:2"}]}))
    if not repeated:
        with pytest.raises(ramet.RametError):
            ask(client)
    else:
        ask(client)
        assert len({request.headers.get("Idempotency-Key") for request in asked}) == 1
    assert len(asked) == 1 + repeated


def test_what_is_refused_is_not_repeated() -> None:
    client, asked = answering(problem("conflict", 409))
    with pytest.raises(ramet.Conflict, match="why") as e:
        client.submit(JOB, key="k")
    assert (e.value.status, e.value.code, e.value.request_id, len(asked)) == (409, "conflict", "r", 1)


def test_it_is_not_repeated_for_ever() -> None:
    client, asked = answering(*[httpx.ConnectError("no")] * calls.TRIES)
    with pytest.raises(ramet.Unreachable, match="nina:7480: no"):
        client.show(KEY)
    assert len(asked) == calls.TRIES


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ((502, b"<html>"), ramet.Unavailable),
        ((413, b""), ramet.Limit),
        ((200, b"<html>"), ramet.RametError),
        ((500, {"code": "internal", "status": 500, "detail": "d"}), ramet.ApiError),
    ],
)
def test_answers_of_others_than_nodes(answer: Any, kind: type[Exception]) -> None:
    client, _ = answering(*[answer] * calls.TRIES)
    with pytest.raises(kind):
        client.show(KEY)


def test_a_stream_that_breaks_goes_on_behind_the_last_whole_event() -> None:
    first = b'id: 0\nevent: log\ndata: {"line":"a"}\n\nid: 1\nevent: log\ndata: {"li'
    second = b': still here\n\nid: 1\nevent: log\ndata: {"line":"b"}\n\nevent: end\ndata: {}\n\n'
    client, asked = answering((200, first), (200, second))
    assert [line["line"] for line in client.logs(KEY)] == ["a", "b"]
    assert [request.headers.get("Last-Event-ID") for request in asked] == [None, "0"]


def test_a_token_that_is_not_good(node: Node) -> None:
    app = ramet.App(url=node.url, context=1, token="not.a.token")
    with pytest.raises(ramet.Unauthenticated):
        app.submit("x")
    app.close()


def test_at_the_local_socket_the_cookie_proves_the_operator(node: Node) -> None:
    app = ramet.App(url=f"unix:{node.data / 'ramet.sock'}", context=1)

    @app.job("at-socket")
    async def at_socket() -> None: ...

    async def body() -> None:
        handle = await at_socket.asubmit()
        assert (await handle.explain())["status"] == "dispatched"
        assert [job["id"] async for job in app.aclient.list(type="at-socket")] == [handle.key.id]
        assert (await handle.cancel())["status"] == "error"
        assert (await handle.retry())["status"] == "dispatched"
        await app.aclose()

    asyncio.run(body())


def test_a_list_of_many_pages(node: Node) -> None:
    app = node.app()

    @app.job("pages")
    def pages(n: int) -> None: ...

    app.submit_many([pages.job(n) for n in range(30)])
    assert len(list(app.client.list(type="pages", limit=7))) == 30
    app.close()
