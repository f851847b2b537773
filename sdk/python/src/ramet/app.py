"""The app: the functions of a program that are jobs of one context."""

from __future__ import annotations

import asyncio
import threading
import weakref
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from . import convert, errors
from .calls import JobKey
from .client import AsyncClient, Client
from .flow import AsyncFlowHandle, FlowHandle
from .function import AsyncHandle, Function, Handle, Options
from .place import Place, Token
from .process import PerProcess
from .worker import Worker, WorkerConfig

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from typing_extensions import Unpack

    from . import wire

P = ParamSpec("P")
R = TypeVar("R")


class App:
    """Functions of a program as jobs of one context of a node.

    ``url`` is the node's address, as in ``http://host:7480#nina`` or ``unix:/run/ramet/ramet.sock``; by default it
    is in $RAMET_NODE. Several nodes of one board are a list, or have commas between them: where one does not answer
    the next is asked. Over TCP say who asks: by a ``token`` (or a function that gives one, and is told the node's
    name where it takes an argument; by default $RAMET_TOKEN), or by a ``key_file`` (by default $RAMET_KEY) and the
    name of the ``node``, which may stand behind the # of the address. Nothing is connected to, and nothing of this is
    looked at, before it is needed.
    """

    def __init__(
        self,
        *,
        context: int,
        url: str | Sequence[str] | None = None,
        token: Token | None = None,
        key_file: str | Path | None = None,
        node: str | None = None,
    ) -> None:
        self.context = context
        self.functions: dict[str, Function[..., Any]] = {}
        self._url, self._token, self._key_file, self._node = url, token, key_file, node
        self._locks = PerProcess(threading.Lock)
        self._place: Place | None = None
        self._client: Client | None = None
        self._aclients: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncClient] = weakref.WeakKeyDictionary()
        self._registered: set[str] = set()

    def job(
        self,
        name: str | None = None,
        *,
        retries: int | None = None,
        retry: wire.Retry | None = None,
        timeout: float | None = None,
        priority: int | None = None,
        affinity: dict[str, str] | None = None,
        env: dict[str, str] | None = None,
    ) -> Callable[[Callable[P, R]], Function[P, R]]:
        """Make a function one that can be submitted, and is run by workers, as jobs of the type ``name``.

        By default that is the function's own name. ``retries`` and what follows is how its jobs are submitted:
        see Options.
        """

        def register(function: Callable[P, R]) -> Function[P, R]:
            options = Options(
                retries=retries, retry=retry, timeout=timeout, priority=priority, affinity=affinity, env=env
            )
            f = Function(self, name or function.__name__, function, options)
            if f.name in self.functions:
                msg = f"the app has a function {f.name!r} already"
                raise ValueError(msg)
            self.functions[f.name] = f
            return f

        return register

    @property
    def place(self) -> Place:
        """Where the node is."""
        with self._locks.get():
            if self._place is None:
                self._place = Place(self._url, token=self._token, key_file=self._key_file, node=self._node)
            return self._place

    @property
    def client(self) -> Client:
        """The client for threads."""
        place = self.place
        with self._locks.get():
            if self._client is None:
                self._client = Client(place, self.context)
            return self._client

    @property
    def aclient(self) -> AsyncClient:
        """The client of the running event loop."""
        loop, place = asyncio.get_running_loop(), self.place
        with self._locks.get():
            if loop not in self._aclients:
                self._aclients[loop] = AsyncClient(place, self.context)
            return self._aclients[loop]

    def submit(self, name: str, args: Any = None, *, options: Options | None = None) -> Handle:
        """Submit a job of a function that may be in another program, by its name; args become JSON."""
        return Handle(self, self.send_job(*self._named(name, args, options)))

    async def asubmit(self, name: str, args: Any = None, *, options: Options | None = None) -> AsyncHandle:
        """Submit a job of a function that may be in another program, from asyncio."""
        return AsyncHandle(self, await self.asend_job(*self._named(name, args, options)))

    @staticmethod
    def _named(name: str, args: Any, options: Options | None) -> tuple[wire.JobInput, str | None]:
        options = options or Options()
        return options.job(name, convert.dumps({} if args is None else args)), options.key

    def submit_many(self, jobs: Sequence[wire.JobInput], *, key: str | None = None) -> list[Handle | errors.ApiError]:
        """Submit many jobs in one request, made by Function.job; each is answered alone."""
        if types := self._new_types(jobs):
            self.client.register(types)
            self._registered.update(types)
        return [Handle(self, k) if not isinstance(k, Exception) else k for k in self.client.submit_many(jobs, key=key)]

    async def asubmit_many(
        self, jobs: Sequence[wire.JobInput], *, key: str | None = None
    ) -> list[AsyncHandle | errors.ApiError]:
        """Submit many jobs in one request, from asyncio."""
        if types := self._new_types(jobs):
            await self.aclient.register(types)
            self._registered.update(types)
        keys = await self.aclient.submit_many(jobs, key=key)
        return [AsyncHandle(self, k) if not isinstance(k, Exception) else k for k in keys]

    def _new_types(self, jobs: Sequence[wire.JobInput]) -> list[str]:
        """Give the types of jobs that are the app's own, and that no node may have heard of."""
        own = {job.get("script_type", "") for job in jobs} & self.functions.keys()
        return sorted(own - self._registered)

    def send_job(self, job: wire.JobInput, key: str | None) -> JobKey:
        """Submit a job; where the node does not know its type, which is one of the app's, register that first."""
        try:
            return self.client.submit(job, key=key)
        except errors.Invalid:
            types = self._new_types([job])
            if not types:
                raise
        self.client.register(types)
        self._registered.update(types)
        return self.client.submit(job, key=key)

    async def asend_job(self, job: wire.JobInput, key: str | None) -> JobKey:
        """Do what send_job does, from asyncio."""
        try:
            return await self.aclient.submit(job, key=key)
        except errors.Invalid:
            types = self._new_types([job])
            if not types:
                raise
        await self.aclient.register(types)
        self._registered.update(types)
        return await self.aclient.submit(job, key=key)

    def handle(self, key: JobKey | str) -> Handle:
        """Give the handle of a job that was submitted before, by its key: ``job:12:2001``."""
        return Handle(self, JobKey.parse(key) if isinstance(key, str) else key)

    def ahandle(self, key: JobKey | str) -> AsyncHandle:
        """Give the handle of a job that was submitted before, for asyncio."""
        return AsyncHandle(self, JobKey.parse(key) if isinstance(key, str) else key)

    def submit_flow(self, *, key: str | None = None, **flow: Unpack[wire.FlowInput]) -> FlowHandle:
        """Submit a flow: of a blueprint by its name and params, of a text of one, or of jobs.

        ``app.submit_flow(blueprint="nightly", params={"region": "eu"}, trigger="2026-12-24")``: of a blueprint and a
        trigger one flow is made, ever. Repeated under an idempotency key it makes nothing more, either.
        """
        return FlowHandle(self, self.client.send(self.client.calls.submit_flow(flow, key)))

    async def asubmit_flow(self, *, key: str | None = None, **flow: Unpack[wire.FlowInput]) -> AsyncFlowHandle:
        """Submit a flow, from asyncio."""
        return AsyncFlowHandle(self, await self.aclient.send(self.aclient.calls.submit_flow(flow, key)))

    def flow(self, number: int) -> FlowHandle:
        """Give the handle of a flow that was submitted before, by its number."""
        return FlowHandle(self, number)

    def aflow(self, number: int) -> AsyncFlowHandle:
        """Give the handle of a flow that was submitted before, for asyncio."""
        return AsyncFlowHandle(self, number)

    def run(self, *, concurrency: int = 64, **config: Any) -> None:
        """Run as a worker until SIGTERM or SIGINT; see WorkerConfig for what may be configured.

        Functions with async run on the event loop, others in threads. After the first signal no more jobs are taken,
        and those in hand have ``grace`` seconds to end; after the second they are told to stop at once.
        """
        asyncio.run(self.worker(concurrency=concurrency, **config).run(signals=True))

    def worker(self, **config: Any) -> Worker:
        """Make a worker for an event loop of yours: ``await app.worker().run()``, and ``stop()`` it."""
        return Worker(self, WorkerConfig(**config))

    def close(self) -> None:
        """Close the connections of the client for threads; it can still be used."""
        with self._locks.get():
            if self._client is not None:
                self._client.close()
                self._client = None

    async def aclose(self) -> None:
        """Close the connections of the running loop's client; it can still be used."""
        with self._locks.get():
            client = self._aclients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.close()
