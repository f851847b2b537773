"""Flows that were submitted: for programs with asyncio, and without."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from .errors import FlowFailed

if TYPE_CHECKING:
    from . import wire
    from .app import App

TURN = 60.0
"""How long one request waits for a flow's end, in seconds: the most that a node does."""


class FlowHandle:
    """A flow, by its number."""

    def __init__(self, app: App, number: int) -> None:
        self._app = app
        self.number = number
        self.key = f"flow:{number}"

    def __repr__(self) -> str:
        """Say which flow it is."""
        return f"<FlowHandle {self.key}>"

    def show(self) -> wire.FlowView:
        """Read the flow with its steps as it stands."""
        client = self._app.client
        return client.send(client.calls.show_flow(self.number))

    def wait(self, timeout: float | None = None) -> wire.FlowView:
        """Wait until the flow has ended, and return it. Raises TimeoutError."""
        client, end = self._app.client, _end(timeout)
        while not _ended(flow := client.send(client.calls.wait_flow(self.number, min(end - time.monotonic(), TURN)))):
            _look(self.key, end, timeout)
        return flow

    def result(self, timeout: float | None = None) -> dict[str, str]:
        """Wait for the flow's result. Raises FlowFailed when it has ended in error, and TimeoutError."""
        return _result(self.wait(timeout))

    def explain(self) -> wire.FlowExplanation:
        """Say what the flow waits for, who holds it, and what will wake it."""
        client = self._app.client
        return client.send(client.calls.explain_flow(self.number))

    def cancel(self) -> wire.FlowDone:
        """End what the flow has not begun, and tell what runs to stop."""
        client = self._app.client
        return client.send(client.calls.act_flow(self.number, "cancel"))

    def retry(self, *, failed: bool = False) -> wire.FlowDone:
        """Start again what ended in error, keeping checkpoints; with failed what failed, too."""
        client = self._app.client
        return client.send(client.calls.act_flow(self.number, "retry", {"failed": failed}))


class AsyncFlowHandle:
    """A flow, by its number, for asyncio."""

    def __init__(self, app: App, number: int) -> None:
        self._app = app
        self.number = number
        self.key = f"flow:{number}"

    def __repr__(self) -> str:
        """Say which flow it is."""
        return f"<AsyncFlowHandle {self.key}>"

    async def show(self) -> wire.FlowView:
        """Read the flow with its steps as it stands."""
        client = self._app.aclient
        return await client.send(client.calls.show_flow(self.number))

    async def wait(self, timeout: float | None = None) -> wire.FlowView:
        """Wait until the flow has ended, and return it. Raises TimeoutError."""
        client, end = self._app.aclient, _end(timeout)
        while not _ended(
            flow := await client.send(client.calls.wait_flow(self.number, min(end - time.monotonic(), TURN)))
        ):
            _look(self.key, end, timeout)
        return flow

    async def result(self, timeout: float | None = None) -> dict[str, str]:
        """Wait for the flow's result. Raises FlowFailed when it has ended in error, and TimeoutError."""
        return _result(await self.wait(timeout))

    async def explain(self) -> wire.FlowExplanation:
        """Say what the flow waits for, who holds it, and what will wake it."""
        client = self._app.aclient
        return await client.send(client.calls.explain_flow(self.number))

    async def cancel(self) -> wire.FlowDone:
        """End what the flow has not begun, and tell what runs to stop."""
        client = self._app.aclient
        return await client.send(client.calls.act_flow(self.number, "cancel"))

    async def retry(self, *, failed: bool = False) -> wire.FlowDone:
        """Start again what ended in error, keeping checkpoints; with failed what failed, too."""
        client = self._app.aclient
        return await client.send(client.calls.act_flow(self.number, "retry", {"failed": failed}))


def _end(timeout: float | None) -> float:
    return float("inf") if timeout is None else time.monotonic() + timeout


def _ended(flow: wire.FlowView) -> bool:
    return flow["status"] in ("finished", "error")


def _look(key: str, end: float, timeout: float | None) -> None:
    if time.monotonic() >= end:
        msg = f"{key} has not ended after {timeout} s"
        raise TimeoutError(msg)


def _result(flow: wire.FlowView) -> dict[str, str]:
    if flow["status"] != "finished":
        raise FlowFailed(f"flow:{flow['id']}", flow.get("reason", ""), flow.get("error", ""))
    return flow["result"]
