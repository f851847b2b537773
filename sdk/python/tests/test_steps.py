"""Functions that remember what they have done, against a real node."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime
from typing import Any

import pytest
from conftest import Node
from test_worker import run, working

import ramet


def test_a_function_goes_on_where_it_was(node: Node) -> None:
    app = node.app()
    did: list[str] = []

    @app.job("steps-plain", retries=2)
    def plain() -> dict[str, Any]:
        did.append("top")

        def charge(step: ramet.Step) -> tuple[int, str]:
            did.append(f"charge {step.attempt}")
            if step.attempt == 1:
                raise OSError("busy")
            return 17, step.key

        paid, key = ramet.step("charge", charge, retries=1, after=0.01)
        drawn = [ramet.now().isoformat(), ramet.random(), ramet.uuid(), ramet.version("v", 3)]
        if ramet.current_job().attempt == 1:
            raise ValueError("the program breaks")
        ramet.sleep("nap", 1.2)
        click = ramet.wait("click", timeout=60)
        return {"paid": paid, "key": len(key), "by": click["by"], "drawn": drawn}

    async def body() -> None:
        async with working(app):
            handle = await plain.asubmit()
            await app.ahandle(str(handle.key)).signal("click", {"by": "ada"})
            result = await handle.result(30)
            assert (result["paid"], result["key"], result["by"]) == ("17", "36", "ada")
            at, number, uuid, version = json.loads(result["drawn"])
            assert datetime.fromisoformat(at).year > 2000
            assert 0 <= number < 1
            assert (len(uuid), version) == (36, 3)
            assert did.count("charge 1") == did.count("charge 2") == 1
            assert did.count("top") >= 3  # after the failure and after the sleep

    run(body())


def test_a_function_with_async_goes_on_where_it_was(node: Node) -> None:
    app = node.app()
    did: list[int | str] = []

    @app.job("steps-async")
    async def coroutine() -> str:
        steps = ramet.current_job().asteps

        async def charge(step: ramet.Step) -> int:
            did.append(step.attempt)
            return 17

        paid = await steps.step("charge", charge)
        with pytest.raises(ramet.TimedOut):
            await steps.wait("click", timeout=0.01)
        try:
            await steps.step("fail", fail)
        except ramet.StepFailed as err:
            text = str(err)
        await steps.sleep("nap", 1.2)
        return f"{paid} {text}"

    async def fail() -> None:
        did.append("fail")
        raise OSError("no money")

    async def body() -> None:
        async with working(app):
            handle = await coroutine.asubmit()
            assert await handle.result(30) == {"value": "17 no money"}
            assert did == [1, "fail"]

    run(body())


def test_a_step_does_not_wait_for_itself(node: Node) -> None:
    app = node.app()

    @app.job("steps-inside")
    def inside() -> str:
        ramet.wait("go on")
        try:
            ramet.step("outer", lambda: ramet.step("inner", lambda: 1))
        except ramet.StepFailed as err:
            return str(err)
        return ""

    async def body() -> None:
        async with working(app):
            handle = await inside.asubmit()
            await asyncio.to_thread(app.handle(handle.key).signal, "go on")
            assert "inside of step 'outer'" in (await handle.result(30))["value"]

    run(body())
