"""What is sent once more: what the node's contract says, and nothing else. Every request meets every fault."""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import json
import re
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import Any

import httpx
import pytest
from conftest import ROOT

import ramet
from ramet.calls import Call, Calls
from ramet.client import _retry_after
from ramet.process import PerProcess

CONTRACT = json.loads((ROOT / "test" / "sdk" / "testdata" / "repeats.json").read_text())
PLACE = ramet.Place("http://nina:7480", token="t")
KEY = ramet.JobKey(1, 2)
HELD: Any = {"caller": 1, "id": 2, "attempt": 1}

ASKED: dict[str, Callable[[Calls], Call[Any]]] = {
    "register": lambda c: c.register(["x"]),
    "submit": lambda c: c.submit({"script_type": "x"}, None),
    "submit_many": lambda c: c.submit_many([{"script_type": "x"}], None),
    "submit, with a key": lambda c: c.submit({"script_type": "x"}, "k"),
    "submit_many, with a key": lambda c: c.submit_many([{"script_type": "x"}], "k"),
    "show": lambda c: c.show(KEY),
    "wait": lambda c: c.wait(KEY, 1),
    "logs": lambda c: c.logs(KEY, 0),
    "act": lambda c: c.act(KEY, "cancel"),
    "act, retry": lambda c: c.act(KEY, "retry"),
    "explain": lambda c: c.explain(KEY),
    "signal": lambda c: c.signal(KEY, "click", None),
    "submit_flow": lambda c: c.submit_flow({"blueprint": "b"}, None),
    "submit_flow, with a key": lambda c: c.submit_flow({"blueprint": "b"}, "k"),
    "show_flow": lambda c: c.show_flow(4),
    "wait_flow": lambda c: c.wait_flow(4, 1),
    "act_flow": lambda c: c.act_flow(4, "cancel"),
    "act_flow, retry": lambda c: c.act_flow(4, "retry", {"failed": True}),
    "explain_flow": lambda c: c.explain_flow(4),
    "list_jobs": lambda c: c.list_jobs({}),
    "all_jobs": lambda c: c.all_jobs("cancel", False, {}),
    "all_jobs, counted": lambda c: c.all_jobs("retry", True, {}),
    "bulk": lambda c: c.bulk(3),
    "wait_bulk": lambda c: c.wait_bulk(3, 1),
    "cancel_bulk": lambda c: c.cancel_bulk(3),
    "read": lambda c: c.read("/schedules/nightly"),
    "change": lambda c: c.change("DELETE", "/schedules/nightly", None, None, False),
    "change, a creation": lambda c: c.change("POST", "/blueprints", {}, "tag", False),
    "claim": lambda c: c.claim("w", {"types": ["x"]}),
    "extend": lambda c: c.extend("w", 5000, [HELD], 1),
    "finish": lambda c: c.finish("w", [b"{}"]),
    "step": lambda c: c.step("w", {}, 1),
    "log": lambda c: c.log("w", HELD, []),
    "leave": lambda c: c.leave("w"),
}

# What a request meets, whether one that may be sent again is, and after how many seconds at the least.
FAULTS: dict[str, tuple[Exception | httpx.Response, bool, float]] = {
    "refused": (httpx.ConnectError("refused"), True, 0),
    "not connected in time": (httpx.ConnectTimeout("late"), True, 0),
    "reset before it was sent": (httpx.WriteError("reset"), True, 0),
    "reset after it was sent": (httpx.ReadError("reset"), True, 0),
    "cut off in the answer": (httpx.RemoteProtocolError("peer closed connection"), True, 0),
    "late": (httpx.ReadTimeout("late"), True, 0),
    "429": (httpx.Response(429, headers={"Retry-After": "7"}), True, 7),
    "503": (httpx.Response(503, headers={"Retry-After": "7"}), True, 7),
    "503 for an hour": (httpx.Response(503, headers={"Retry-After": "3600"}), True, 30),
    "503 without a time": (httpx.Response(503), True, 0),
    "502 of a proxy": (httpx.Response(502), True, 0),
    "504 of a proxy": (httpx.Response(504), True, 0),
    **{str(status): (httpx.Response(status), False, 0) for status in (400, 403, 404, 408, 409, 412, 413, 422, 500)},
}


def repeats(method: str, path: str) -> str:
    """What the contract says of a request."""
    for o in CONTRACT:
        if o["method"] == method and re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", o["path"]), path):
            return str(o["repeats"])
    raise LookupError(f"{method} {path} is no operation")


def test_all_requests_are_tried() -> None:
    public = {name for name, _ in inspect.getmembers(Calls, inspect.isfunction) if not name.startswith("_")}
    assert public - {"job", "flow"} == {name.split(",")[0] for name in ASKED}


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("what", ASKED)
def test_it_is_sent_again_where_the_contract_says_so(
    what: str, fault: str, is_async: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = dataclasses.replace(ASKED[what](Calls(7)), read=lambda a: a)
    met, again, after = FAULTS[fault]
    asked: list[tuple[str, str, bytes]] = []
    rests: list[float] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append((request.method, str(request.url), request.content))
        if len(asked) > 1:
            return httpx.Response(200, json={})
        if isinstance(met, Exception):
            raise met
        return httpx.Response(met.status_code, headers=met.headers)  # each is read once

    async def rest(seconds: float) -> None:
        rests.append(seconds)

    transport = httpx.MockTransport(answer)
    if is_async:
        monkeypatch.setattr("ramet.client.asyncio.sleep", rest)
        aclient = ramet.AsyncClient(PLACE, 7)
        aclient._pool = PerProcess(lambda: httpx.AsyncClient(base_url="http://nina:7480", transport=transport))

        def send() -> None:
            asyncio.run(aclient.send(call))
    else:
        monkeypatch.setattr("ramet.client.time.sleep", rests.append)
        client = ramet.Client(PLACE, 7)
        client._pool = PerProcess(lambda: httpx.Client(base_url="http://nina:7480", transport=transport))

        def send() -> None:
            client.send(call)

    may = {"always": True, "with_key": call.key is not None, "never": False}[repeats(call.method, call.path)]
    if not (may and again):
        with pytest.raises(ramet.RametError):
            send()
        assert (len(asked), rests) == (1, [])
        return
    send()
    assert len(asked) == 2
    assert asked[0] == asked[1]
    assert rests[0] >= after


WAITS = json.loads((ROOT / "test" / "sdk" / "testdata" / "retry_after.json").read_text("utf-8"))


@pytest.mark.parametrize("row", WAITS["headers"], ids=lambda row: row["header"][:40])
def test_retry_after_is_read_as_in_the_other_languages(row: dict[str, Any]) -> None:
    assert _retry_after(row["header"], parsedate_to_datetime(WAITS["now"]).timestamp()) == row["seconds"]
