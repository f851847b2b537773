"""Functions that remember, without a node: as tests of users run them."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

import ramet
from ramet import testing

app = ramet.App(context=1)  # connects to nothing
did: list[str] = []


@pytest.fixture(autouse=True)
def nothing_done() -> None:
    did.clear()


@app.job("remembers")
def remembers() -> float:
    did.append(f"call {ramet.current_job().attempt}")
    before = ramet.now()

    def pay(step: ramet.Step) -> str:
        did.append(f"pay {step.attempt}")
        if step.attempt < 3:
            raise OSError("busy")
        return step.key

    assert len(ramet.step("pay", pay, retries=2)) == 36
    ramet.sleep("nap", 0.01)
    with pytest.raises(ramet.TimedOut):
        ramet.wait("never", timeout=3600)
    ramet.sleep("long", until=before + timedelta(days=2))
    assert ramet.random() < ramet.version("v", 3) < len(ramet.uuid())
    return (ramet.now() - before).total_seconds()


def test_a_function_is_called_again_from_its_top() -> None:
    memory = testing.Memory()
    outcome = memory.run(remembers)
    assert outcome.verdict == "succeeded", outcome
    assert outcome.result
    assert float(outcome.result["value"]) >= 2 * 86400
    # A second is short: it is waited for without ending the function; two are not.
    assert did == ["call 1", "pay 1", "pay 2", "call 2", "pay 3", "call 3", "call 4"]
    names = ["now", "step pay", "sleep nap", "wait never", "sleep long", "random", "uuid", "now"]
    assert memory.steps == names
    assert memory.now > datetime.now(timezone.utc) + timedelta(hours=47)


def test_without_a_memory_nothing_is_in_the_way() -> None:
    assert testing.run(remembers).verdict == "succeeded"


def test_what_is_remembered_outlives_a_failure() -> None:
    breaks = True

    @app.job()
    def fragile() -> str:
        def pay() -> list[str]:
            did.append("pay")
            return ["17"]

        paid = ramet.step("pay", pay).pop()  # which changes nothing of what is remembered
        if breaks:
            raise OSError("the program breaks")
        return paid

    memory = testing.Memory()
    assert memory.run(fragile).verdict == "errored"
    breaks = False
    outcome = memory.run(fragile)
    assert (outcome.verdict, outcome.result) == ("succeeded", {"value": "17"})
    assert did == ["pay"]


@app.job("asks")
def asks() -> dict[str, Any]:
    ramet.wait("data", prerequisite="file:in.csv")
    ends = ramet.gather([ramet.Call("one", "b"), ramet.Call("two", script="s")])
    paid = ramet.approval("pay", "Pay?")
    with pytest.raises(ramet.TimedOut):
        ramet.approval("again", timeout=3600)
    assert ramet.approval("late", timeout=3600, on_deadline="approve")
    try:
        ramet.call("bad", script="s")
    except ramet.StepFailed as err:
        text = str(err)
    click = ramet.wait("click")
    return {"ends": ends, "by": paid.by, "bad": text, "click": click}


def test_what_others_do_comes_as_the_test_says() -> None:
    memory = testing.Memory(
        signals={"click": [{"by": "ada"}]},
        calls={"one": {"of": "1"}, "two": {"of": "2"}, "bad": OSError("no luck")},
        approvals={"pay": ramet.Decision(approved=True, by="9", comment="", answers={})},
        prerequisites=["file:in.csv"],
    )
    outcome = memory.run(asks)
    assert outcome.result == {"ends": '[{"of":"1"},{"of":"2"}]', "by": "9", "bad": "no luck", "click": '{"by":"ada"}'}
    memory = testing.Memory(calls=lambda call: {"of": call["name"]}, approvals={"pay": True}, signals={"click": [1]})
    assert memory.run(asks).verdict == "errored"  # as "bad" ends well


def test_what_never_comes_is_named_and_may_come_later() -> None:
    memory = testing.Memory(prerequisites=[])
    outcome = memory.run(asks)
    assert (outcome.verdict, outcome.suspension) == (
        "suspended",
        {"kind": "wait", "name": "data", "n": 1, "prerequisites": ["file:in.csv"]},
    )
    memory.prerequisites = None
    outcome = memory.run(asks)
    assert outcome.suspension == {"kind": "call", "name": "one", "n": 1, "children": ["call one", "call two"]}
    memory.calls = {"one": {}, "two": {}, "bad": ValueError("no luck")}
    memory.approvals = {"pay": True}
    outcome = memory.run(asks)
    assert outcome.suspension == {"kind": "wait", "name": "click", "n": 1, "signals": ["click"]}
    memory.signals["click"] = ["ada"]
    assert memory.run(asks).verdict == "succeeded"


def test_a_function_that_asks_for_something_else_is_found() -> None:
    calls: list[int] = []

    @app.job()
    def drifts() -> None:
        calls.append(1)
        ramet.step(f"step {len(calls)}", lambda: None)
        ramet.sleep("nap", 3600)

    outcome = testing.run(drifts)
    assert (outcome.verdict, outcome.final) == ("failed", True)
    assert 'step "step 2" where its history has step "step 1"' in outcome.error


def test_steps_with_async_side_by_side() -> None:
    @app.job()
    async def beside() -> list[int]:
        steps = ramet.current_job().asteps
        go_on = asyncio.Event()

        async def left() -> int:
            did.append("left")
            await go_on.wait()
            return 1

        async def right() -> int:
            did.append("right")
            go_on.set()
            return 2

        both = await asyncio.gather(steps.step("left", left), steps.step("right", right), steps.sleep("nap", 3600))
        return [one for one in both if one is not None]

    assert testing.run(beside).result == {"value": "[1,2]"}
    assert did == ["left", "right"]


def test_a_step_that_was_not_done_is_not_remembered() -> None:
    @app.job()
    def stops() -> None:
        ramet.step("pay", lambda: ramet.current_job().check())

    memory = testing.Memory()
    assert testing.run_job(stops, testing.make_job(), stopped=ramet.Cause.STOPPING, memory=memory).verdict == "stopped"
    outcome = memory.run(stops)
    assert (outcome.verdict, memory.steps) == ("succeeded", ["step pay"])
