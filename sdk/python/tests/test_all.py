"""What is done to all jobs that a filter fits, and changes that hold what was read, at a real node."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from conftest import Node

import ramet


def plan(name: str, script: str) -> dict[str, Any]:
    """A blueprint: nothing changes it but people."""
    return {"text": f"name: {name}\nsteps:\n- {{name: a, script: {script}, script_type: shell}}\n"}


def test_all_jobs_that_a_filter_fits(node: Node) -> None:
    client = node.app().client
    client.register(["all"])
    keys = client.submit_many([{"script_type": "all", "script": "{}"} for _ in range(7)])
    assert len({str(k) for k in keys}) == 7

    counted = client.cancel_all(dry_run=True, type="all")
    assert (counted["status"], counted["total"], counted["done"]) == ("counted", 7, 0)
    begun = client.cancel_all(type="all")
    done = client.wait_bulk(begun["id"], timeout=120)
    assert (done["status"], done["done"]) == ("finished", 7)
    assert client.bulk(begun["id"]) == done
    assert {j["status"] for j in client.list(type="all", text="cancelled", sort="newest")} == {"error"}

    begun = client.retry_all(type="all", status="error")
    assert client.wait_bulk(begun["id"])["done"] == 7
    with pytest.raises(ramet.Conflict, match="has ended"):
        client.cancel_bulk(begun["id"])
    with pytest.raises(ramet.Invalid, match="where"):
        client.cancel_all(where="job.nonsense(")
    with pytest.raises(ramet.NotFound):
        client.bulk(4_000_000_000)


def test_the_same_with_asyncio(node: Node) -> None:
    async def main() -> None:
        client = node.app().aclient
        await client.register(["aall"])
        await client.submit_many([{"script_type": "aall", "script": "{}"} for _ in range(3)])
        begun = await client.cancel_all(type="aall")
        assert (await client.wait_bulk(begun["id"]))["done"] == 3
        assert (await client.retry_all(dry_run=True, type="aall"))["total"] == 3
        assert len([j async for j in client.list(type="aall", limit=2)]) == 3
        await client.change("POST", "/blueprints", plan("aheld", "one"), if_none=True)
        read = await client.read("/blueprints/aheld")
        await client.change("POST", "/blueprints", plan("aheld", "two"), if_match=read.tag)
        with pytest.raises(ramet.Conflict):
            await client.change("DELETE", "/blueprints/aheld", if_match=read.tag)
        await client.close()

    asyncio.run(main())


def test_a_change_holds_what_was_read(node: Node) -> None:
    client = node.app().client
    client.change("POST", "/blueprints", plan("held", "one"), if_none=True)
    with pytest.raises(ramet.Conflict):
        client.change("POST", "/blueprints", plan("held", "one"), if_none=True)
    read = client.read("/blueprints/held")
    assert "one" in str(read.value)
    assert read.tag
    client.change("POST", "/blueprints", plan("held", "two"), if_match=read.tag)
    with pytest.raises(ramet.Conflict) as e:
        client.change("DELETE", "/blueprints/held", if_match=read.tag)
    assert e.value.status == 412
    assert "two" in str(client.read("/blueprints/held").value)
    with pytest.raises(ramet.Invalid, match="cannot hold"):
        client.change("POST", "/jobs", {"script_type": "shell", "script": "true"}, if_match=read.tag)
    client.change("DELETE", "/blueprints/held", if_match=client.read("/blueprints/held").tag)
    with pytest.raises(ramet.NotFound):
        client.read("/blueprints/held")
