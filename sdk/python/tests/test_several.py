"""Several nodes of one board: where one does not answer, another is asked."""

from __future__ import annotations

import asyncio
import dataclasses
import http.server
import signal
import threading
from collections import Counter
from typing import Any

import httpx
import pytest
from conftest import Node

import ramet
from ramet.calls import Call
from ramet.place import Token
from ramet.process import PerProcess

KEY = ramet.JobKey(1, 2)
WELL = httpx.Response(200, json={"id": 2, "status": "finished", "jobs": [{"key": "job:1:2"}]})
BUSY = httpx.Response(503, headers={"Retry-After": "20"})


def place() -> ramet.Place:
    return ramet.Place(["http://a:7480#nina", "http://b:7480#nora"], token=lambda name: f"for-{name}")


class Board:
    """Nodes that note what they are asked, each in its way, and a client of both."""

    def __init__(self, is_async: bool, monkeypatch: pytest.MonkeyPatch, **answers: Exception | httpx.Response) -> None:
        self.answers, self.asked, self.rests = answers, list[str](), list[float]()
        self.is_async = is_async
        self.renew()

        async def rest(seconds: float) -> None:
            self.rests.append(seconds)

        monkeypatch.setattr("ramet.client.asyncio.sleep", rest)
        monkeypatch.setattr("ramet.client.time.sleep", self.rests.append)
        monkeypatch.setattr("ramet.place.Place._watch", lambda _: None)  # real time is not passing here

    def answer(self, request: httpx.Request) -> httpx.Response:
        name = request.url.host
        self.asked.append(f"{name} {request.method}")
        assert request.headers["Authorization"] == {"a": "Bearer for-nina", "b": "Bearer for-nora"}[name]
        answer = self.answers[name]
        if isinstance(answer, Exception):
            raise answer
        return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)

    def renew(self) -> None:
        """Forget which node has failed."""
        self.client, self.aclient = ramet.Client(place(), 7), ramet.AsyncClient(place(), 7)
        self.client._pool = PerProcess(lambda: httpx.Client(transport=httpx.MockTransport(self.answer)))
        self.aclient._pool = PerProcess(lambda: httpx.AsyncClient(transport=httpx.MockTransport(self.answer)))

    def send(self, call: Call[Any]) -> None:
        if self.is_async:
            asyncio.run(self.aclient.send(call))
        else:
            self.client.send(call)

    def want(self, *asked: str) -> None:
        assert self.asked == list(asked)
        self.asked.clear()


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize(
    "first",
    [httpx.ConnectError("gone"), httpx.ReadError("cut off"), httpx.ReadTimeout("late"), BUSY, httpx.Response(502)],
    ids=lambda a: str(a) or type(a).__name__,
)
def test_the_next_node_is_asked(
    first: Exception | httpx.Response, is_async: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    b = Board(is_async, monkeypatch, a=first, b=WELL)
    calls = b.client.calls
    b.send(calls.show(KEY))
    b.want("a GET", "b GET")
    assert all(r < 1 for r in b.rests)  # what the first says of when to come again is of that one
    b.send(calls.act(KEY, "cancel"))
    b.want("b POST")
    b.renew()
    b.send(calls.submit({"script_type": "x"}, "k"))
    b.want("a POST", "b POST")
    b.renew()
    with pytest.raises((ramet.Unreachable, ramet.ApiError)):
        b.send(calls.act(KEY, "cancel"))
    b.want("a POST")
    b.send(calls.act(KEY, "cancel"))
    b.want("b POST")


@pytest.mark.parametrize("status", [400, 403, 404, 409, 429, 500])
def test_a_node_that_refuses_is_not_left(status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    b = Board(False, monkeypatch, a=httpx.Response(status), b=WELL)
    for _ in range(2):
        with pytest.raises(ramet.ApiError):
            b.send(b.client.calls.act(KEY, "cancel"))
    b.want("a POST", "a POST")


def test_when_all_want_to_be_left_alone_that_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    b = Board(False, monkeypatch, a=BUSY, b=BUSY)
    with pytest.raises(ramet.Unavailable):
        b.send(b.client.calls.show(KEY))
    assert b.asked[:4] == ["a GET", "b GET", "a GET", "b GET"]
    assert b.rests[0] < 1
    assert all(r >= 20 for r in b.rests[1:])


def test_a_caller_that_goes_away_leaves_the_node(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone(BaseException):
        pass

    b = Board(False, monkeypatch, a=WELL, b=WELL)
    with pytest.raises(Gone), b.client._place.turn():
        raise Gone
    b.send(b.client.calls.show(KEY))
    b.want("a GET")


def test_addresses_are_a_list_or_have_commas_between_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def urls(*url: Any) -> list[str]:
        return [n.url for n in ramet.Place(*url, token="t").nodes]

    assert (
        urls("http://a:1#x, https://b:2#y") == urls(["http://a:1#x", "https://b:2#y"]) == ["http://a:1", "https://b:2"]
    )
    monkeypatch.setenv("RAMET_NODE", "http://a:1,http://b:2,http://c:3")
    assert urls() == ["http://a:1", "http://b:2", "http://c:3"]
    assert ramet.Place("unix:/run/a,b.sock").socket == "/run/a,b.sock"
    for bad in (
        ["http://a:1", "unix:/run/a.sock"],
        "http://a:1,",
        "http://a:1,nora",
        ["http://a:1", "http://me:secret@b"],
    ):
        with pytest.raises(ValueError, match=r"^url: (?!.*secret)"):
            ramet.Place(bad, token="t")
    with pytest.raises(ValueError, match="names stand behind the #"):
        ramet.Place("http://a:1,http://b:2", token="t", node="nina")


@pytest.mark.parametrize(
    ("token", "said"),
    [("one", "one"), (lambda: "none", "none"), (lambda kept="kept": kept, "kept"), (lambda node: node, "x"), (str, "")],
)
def test_a_token_is_one_for_all_or_told_the_nodes_name(token: Token, said: str) -> None:
    headers = ramet.Place("http://a:1#x", token=token).nodes[0].headers(ramet.calls.Calls(1).show(KEY))
    assert headers["Authorization"] == f"Bearer {said}"


class Silent(http.server.ThreadingHTTPServer):
    """A node that takes requests, and answers what it is told to answer."""

    daemon_threads = True

    def __init__(self, *answered: str) -> None:
        self.health = 0
        self.goes_on = threading.Event()

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            server: Silent

            def do_GET(self) -> None:
                self.server.health += self.path == "/health"
                if self.server.health > 2:
                    self.server.goes_on.set()
                if self.path not in answered:
                    self.server.goes_on.wait()
                self.send_response(200)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            do_POST = do_GET  # noqa: N815

            def log_message(self, *_: object) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}#silent"
        threading.Thread(target=self.serve_forever, daemon=True).start()


def send(place: ramet.Place, call: Call[Any], *, is_async: bool) -> Any:
    if not is_async:
        with ramet.Client(place, 7) as client:
            return client.send(call)

    async def body() -> Any:
        async with ramet.AsyncClient(place, 7) as client:
            return await client.send(call)

    return asyncio.run(body())


@pytest.mark.parametrize("is_async", [False, True])
def test_a_node_that_hangs_is_left_while_one_waits(is_async: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    hangs, works = Silent(), Silent("/v1/contexts/7/jobs/1/2/cancel")
    call = dataclasses.replace(ramet.calls.Calls(7).act(KEY, "cancel"), timeout=3600.0)
    place = ramet.Place([hangs.url, works.url], token="t")
    with monkeypatch.context() as sooner:
        sooner.setattr("ramet.place.QUIET", 0.05)
        sooner.setattr("ramet.place.PATIENCE", 0.05)
        with pytest.raises(ramet.Unreachable, match="has not answered GET /health"):
            send(place, call, is_async=is_async)
    assert send(place, call, is_async=is_async) == {}
    hangs.goes_on.set()
    for server in (hangs, works):
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("is_async", [False, True])
def test_a_node_that_works_is_not_left_however_long_it_takes(is_async: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ramet.place.QUIET", 0.05)
    works = Silent("/health")  # the other answer comes when this has been asked three times
    place = ramet.Place([works.url, "http://127.0.0.1:1"], token="t")
    assert send(place, ramet.calls.Calls(7).act(KEY, "cancel"), is_async=is_async) == {}
    assert works.health > 2
    works.shutdown()
    works.server_close()


def test_a_key_signs_for_each_node_by_its_name(two_nodes: tuple[Node, Node], monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = two_nodes
    monkeypatch.setenv("RAMET_NODE", f"{first.url},{second.url}")
    monkeypatch.setenv("RAMET_KEY", str(first.key))
    monkeypatch.delenv("RAMET_TOKEN", raising=False)
    app = ramet.App(context=1)
    app.client.register(["signed"])
    once = ramet.Options(key="once")
    key = app.submit("signed", options=once).key
    first.end(signal.SIGKILL)
    assert app.submit("signed", options=once).key == key
    app.close()


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_nothing_is_lost_and_nothing_done_twice(two_nodes: tuple[Node, Node], how: int, is_async: bool) -> None:
    first, second = two_nodes
    app = ramet.App(context=1, url=[first.url, second.url], key_file=first.key)
    runs: Counter[int] = Counter()
    all_begun, goes_on = threading.Event(), threading.Event()

    def begin(n: int) -> None:
        runs[n] += 1
        ramet.current_job().log(f"begun {n}")
        if len(runs) == 8:
            all_begun.set()

    def end(n: int, twice: int) -> int:
        ramet.current_job().log(f"done {n}")
        return twice

    async def twice(n: int) -> int:
        return 2 * n

    counted: ramet.Function[[int], Any]
    if is_async:

        @app.job("counted", timeout=300)
        async def acounted(n: int) -> int:
            begin(n)
            await asyncio.to_thread(goes_on.wait)
            return end(n, await ramet.current_job().asteps.step("double", lambda _: twice(n)))

        counted = acounted
    else:

        @app.job("counted", timeout=300)
        def scounted(n: int) -> int:
            begin(n)
            goes_on.wait()
            return end(n, ramet.step("double", lambda _: 2 * n))

        counted = scounted

    worker = app.worker(concurrency=8)
    thread = threading.Thread(target=lambda: asyncio.run(worker.run()))
    thread.start()
    try:
        early = [counted.using(key=f"early-{n}").submit(n) for n in range(8)]
        lines: list[str] = []
        follower = threading.Thread(target=lambda: lines.extend(line["line"] for line in early[0].logs()))
        follower.start()
        all_begun.wait()  # all of them are in hand
        first.end(how) if how == signal.SIGKILL else first.signal(how)
        goes_on.set()

        async def submit(n: int) -> dict[str, str]:
            return await (await counted.using(key=f"late-{n}").asubmit(n)).result(300)

        async def late() -> list[dict[str, str]]:
            results = await asyncio.gather(*(submit(n) for n in range(8, 32)))
            await app.aclose()
            return results

        results = [handle.result(300) for handle in early] + asyncio.run(late())
        assert results == [{"value": str(2 * n)} for n in range(32)]
        assert runs == Counter(range(32))
        follower.join()
        assert lines == ["begun 0", "done 0"]
        if how == signal.SIGSTOP:
            first.signal(signal.SIGCONT)  # and does what it had been asked
            first.app().client.show(early[0].key)
        assert sum(job["status"] == "finished" for job in app.client.list(type="counted")) == 32
    finally:
        goes_on.set()
        worker.stop()
        thread.join()
        app.close()
