"""Flows that are submitted by the SDK, against a real node."""

from __future__ import annotations

import asyncio

import pytest
from conftest import Node

import ramet

WORKS = """
name: sdk-flow
params: {who: nobody}
output: {greeted: greet.value}
steps:
  - name: greet
    script: echo "value=hello $RAMET_PARAM_WHO" >>"$RAMET_RESULT"
    script_type: shell
"""
BREAKS = """
name: sdk-flow-breaks
steps:
  - {name: break, script: 'throw "no"', script_type: rhai}
"""
WAITS = """
name: sdk-flow-waits
steps:
  - {name: ask, kind: approval}
"""


def test_a_flow_is_submitted_followed_and_cancelled(node: Node) -> None:
    app = node.app()
    flow = app.submit_flow(text=WORKS, params={"who": "ada"}, key="flow-1")
    assert app.submit_flow(text=WORKS, params={"who": "ada"}, key="flow-1").number == flow.number
    assert flow.result(30) == {"greeted": "hello ada"}
    again = app.flow(flow.number)
    assert [step["name"] for step in again.show()["steps"]] == ["greet"]
    assert again.explain()["standing"] == "ended"
    broken = app.submit_flow(text=BREAKS)
    with pytest.raises(ramet.FlowFailed, match=f"^flow:{broken.number}: "):
        broken.result(30)
    assert broken.retry(failed=True)["done"]
    assert broken.wait(30)["status"] == "error"
    waiting = app.submit_flow(text=WAITS)
    with pytest.raises(TimeoutError):
        waiting.wait(0.01)
    assert waiting.cancel()["key"] == waiting.key
    assert waiting.wait(30)["status"] == "error"
    with pytest.raises(ramet.NotFound):
        app.submit_flow(blueprint="there-is-none")
    app.close()


def test_a_flow_is_submitted_followed_and_cancelled_from_asyncio(node: Node) -> None:
    app = node.app()

    async def body() -> None:
        flow = await app.asubmit_flow(text=WORKS, params={"who": "bob"})
        assert await flow.result(30) == {"greeted": "hello bob"}
        again = app.aflow(flow.number)
        assert (await again.show())["status"] == "finished"
        assert (await again.explain())["standing"] == "ended"
        broken = await app.asubmit_flow(text=BREAKS)
        with pytest.raises(ramet.FlowFailed):
            await broken.result(30)
        assert (await broken.retry(failed=True))["done"]
        waiting = await app.asubmit_flow(text=WAITS)
        with pytest.raises(TimeoutError):
            await waiting.wait(0.01)
        assert (await waiting.cancel())["key"] == waiting.key
        assert (await waiting.wait(30))["status"] == "error"
        await app.aclose()

    asyncio.run(body())
