"""What a job remembers in a test, in place of a node: with the same rules, and with time that is skipped."""

from __future__ import annotations

import asyncio
import json
import random
import threading
import time
import uuid
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, TypeVar, cast

from .durable import Decision, Steps
from .steps import AsyncSteps
from .steps import Memory as Asked

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from . import wire

    Ends = Mapping[str, "dict[str, str] | Exception"] | Callable[[dict[str, Any]], dict[str, str] | Exception | None]

T = TypeVar("T")

SHORT = 1000
"""What takes no longer, in milliseconds, does not end the function."""
MOST = 10_000
"""How much a job remembers at the most."""
_KEYS = uuid.uuid5(uuid.NAMESPACE_URL, "https://ramet.run/durable/step")
_Id = tuple[str, str, int]


@dataclass
class _Place:
    """One thing that is remembered, or waited for."""

    id: _Id
    answer: dict[str, Any] | None = None  # once it is over
    tries: int = 0
    until: float | None = None  # by the test's clock, in milliseconds
    beside: bool = False  # other steps were being done: which comes first says nothing


@dataclass
class History:
    """What a job remembers, and what comes to it from others: see testing.Memory."""

    signals: dict[str, list[Any]] = field(default_factory=dict)
    """Those that were sent and not waited for yet, by their names: payloads, the oldest first."""
    calls: Ends = field(default_factory=dict)
    """How jobs and flows end that the function calls, by the call's name, or said by a function of the call.

    By a result, or by an exception. Others go on.
    """
    approvals: Mapping[str, Decision | bool] = field(default_factory=dict)
    """What a person has decided, by the approval's name. Of others nobody has."""
    prerequisites: Collection[str] | None = None
    """Those that are met. Default: each is."""

    def __post_init__(self) -> None:
        """Begin with nothing."""
        self.attempts = 0
        self.places: dict[_Id, _Place] = {}
        self.versions: dict[str, int] = {}
        self._skipped = 0.0

    @property
    def now(self) -> datetime:
        """The time of the job: the clock's, and all that was slept and waited."""
        return datetime.fromtimestamp(self.ms() / 1000, timezone.utc)

    @property
    def steps(self) -> list[str]:
        """What the job remembers, in order, such as "step charge", "sleep nap" and "wait click"."""
        return [f"{verb} {name}".strip() for verb, name, _ in self.places]

    def ms(self) -> float:
        """Give the time in milliseconds."""
        return time.time() * 1000 + self._skipped

    def skip(self, until: float) -> None:
        """Have it be as late as that."""
        self._skipped += max(0.0, until - self.ms())


class Attempt(Asked):
    """One call of a function, from its top."""

    def __init__(self, history: History, held: wire.HeldAttempt) -> None:
        async def nobody(_: dict[str, Any]) -> wire.WorkerStepAnswer:
            raise AssertionError  # nothing is sent

        super().__init__(held, nobody)
        self.until: float | None = None
        """When the job goes on that was suspended, if nothing comes."""
        self._of = history
        # A step that was begun and not done is not remembered.
        history.places = {k: p for k, p in history.places.items() if p.answer or p.tries or k[0] != "step"}
        self._lock = threading.Condition()  # told when a step is not being done any more
        self._moved = asyncio.Event()  # as that, for functions with async
        self._counts: dict[tuple[str, str], int] = {}
        self._asked_for: set[_Id] = set()
        self._open: set[_Id] = set()
        self._waiting: dict[_Id, dict[str, Any]] = {}  # what is waited for
        self._stopping = False

    async def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Answer a request of a function with async."""
        request = _copied(request)
        place = self._begin(request)
        while (answer := self._answer(request, place)) is None:
            self._moved.clear()
            await self._moved.wait()  # a step that is being done beside it comes first
        return self._answered(_copied(answer))

    def ask_here(self, request: dict[str, Any]) -> dict[str, Any]:
        """Answer a request of a function without async."""
        request = _copied(request)
        place = self._begin(request)
        with self._lock:
            while (answer := self._answer(request, place)) is None:
                self._lock.wait()
        return self._answered(_copied(answer))

    def steps(self) -> Steps:
        """Give what a function without async remembers by."""
        return Steps(self.ask_here)

    def asteps(self) -> AsyncSteps:
        """Give what a function with async remembers by."""
        return AsyncSteps(self)

    def _begin(self, request: dict[str, Any]) -> list[_Place] | dict[str, Any]:
        """Give the places that are asked for, or the answer of a node that refuses that."""
        with self._lock:
            do, name = request["do"], request.get("name", "")
            if do == "version":
                return self._version(name, request["n"])
            if do in ("done", "drop") or (do == "step" and request.get("n")):
                return [self._place(("step", name, request["n"]))]
            names = [call["name"] for call in request["calls"]] if do == "call" else [name]
            places = []
            for each in names:
                self._counts[do, each] = n = self._counts.get((do, each), 0) + 1
                if drift := self._drift((do, each, n)):
                    return _error("drift", drift)
                places.append(self._place((do, each, n)))
            if len(self._of.places) > MOST:
                return _error("limit", f"the history of the job has {MOST} events, which is the limit")
            return places

    def _place(self, place_id: _Id) -> _Place:
        place = self._of.places.setdefault(place_id, _Place(place_id))
        self._asked_for.add(place_id)
        if others := self._open - {place_id}:
            place.beside = True
            for other in others:
                self._of.places[other].beside = True
        return place

    def _drift(self, asked: _Id) -> str:
        """Say how what is asked for differs from what is remembered."""
        own = self._of.places.get(asked)
        if own is not None and (asked in self._asked_for or own.beside):
            return ""
        for place in self._of.places.values():
            if place is own:
                return ""
            if place.id not in self._asked_for and not place.beside:
                return (
                    f"it asks for {_named(asked)} where its history has {_named(place.id)}: was the function changed?"
                )
        return ""

    def _version(self, name: str, n: int) -> dict[str, Any]:
        known = self._of.versions.get(name)
        if known is None:
            replaying = any(p.id not in self._asked_for for p in self._of.places.values())
            known = self._of.versions[name] = 0 if replaying else n
        if known > n:
            return _error(
                "conflict", f"version {name!r}: the job went on with version {known}, the function knows up to {n}"
            )
        return {"done": True, "value": known}

    def _answer(self, request: dict[str, Any], places: list[_Place] | dict[str, Any]) -> wire.WorkerStepAnswer | None:
        """Answer, unless steps have to be done before."""
        if isinstance(places, dict):
            return {"answer": places}
        with self._lock:
            do, place = request["do"], places[0]
            if do == "done":
                return {"answer": self._done(request, place)}
            if do == "drop":
                self._shut(place)
                return {"answer": {"done": True}}
            if do == "step" and place.answer is None:
                what = {} if place.until is None else {"until": place.until}
                if what and not self._is_over(what):
                    return self._hold(place, what)
                return self._suspended() if self._stopping else {"answer": self._do(place)}
            if do == "call":
                return self._called(request, places)
            if place.answer is None:
                return self._wait(request, place)
            return {"answer": {**place.answer, "n": place.id[2]}}

    def _do(self, place: _Place) -> dict[str, Any]:
        self._open.add(place.id)
        _, name, n = place.id
        return {"done": False, "n": n, "key": str(uuid.uuid5(_KEYS, f"{name}\0{n}")), "attempt": place.tries + 1}

    def _done(self, request: dict[str, Any], place: _Place) -> dict[str, Any]:
        self._shut(place)
        if "retry_after_ms" in request:
            place.tries += 1
            place.until = self._of.ms() + request["retry_after_ms"]
            return {"done": False, "again": True}
        place.answer = {"done": True, **{key: request[key] for key in ("value", "failure") if key in request}}
        return {"done": True}

    def _shut(self, place: _Place) -> None:
        self._open.discard(place.id)
        self._lock.notify_all()
        self._moved.set()

    def _wait(self, request: dict[str, Any], place: _Place) -> wire.WorkerStepAnswer | None:
        """Answer what takes time, and what is drawn."""
        do, now = request["do"], self._of.ms()
        what: dict[str, Any] = {}
        if do == "sleep":
            if place.until is None:
                place.until = request["until_ms"] if "until_ms" in request else now + request["for_ms"]
        elif do == "wait":
            if place.until is None and "timeout_ms" in request:
                place.until = now + request["timeout_ms"]
            came = self._came(request, what)
            if came is not None:
                return self._over(place, came)
        else:
            drawn: dict[str, Callable[[], Any]] = {
                "now": lambda: round(now),
                "random": random.random,
                "uuid": lambda: str(uuid.uuid4()),
            }
            return self._over(place, {"value": drawn[do]()})
        if place.until is not None:
            what["until"] = place.until
            if self._is_over(what):
                return self._over(place, {} if do == "sleep" else _late(request))
        return self._hold(place, what)

    def _over(self, place: _Place, came: dict[str, Any]) -> wire.WorkerStepAnswer:
        self._waiting.pop(place.id, None)
        place.answer = {"done": True, **came}
        return {"answer": place.answer}

    def _came(self, request: dict[str, Any], what: dict[str, Any]) -> dict[str, Any] | None:
        """Give what has come of what is waited for, and say what that is."""
        name = request["name"]
        if "prerequisite" in request:
            what["prerequisites"] = [request["prerequisite"]]
            met = self._of.prerequisites is None or request["prerequisite"] in self._of.prerequisites
            return {"value": True} if met else None
        if "approval" in request:
            what["children"] = [f"approval {name}"]
            given = self._of.approvals.get(name)
            return None if given is None else {"value": _decision(given)}
        signal = request.get("signal", name)
        what["signals"] = [signal]
        sent = self._of.signals.get(signal)
        return {"value": sent.pop(0)} if sent else None

    def _called(self, request: dict[str, Any], places: list[_Place]) -> wire.WorkerStepAnswer | None:
        calls = self._of.calls
        for call, place in zip(request["calls"], places, strict=True):
            if place.answer is not None:
                continue
            end = calls(call) if callable(calls) else calls.get(call["name"])
            if end is not None:
                self._over(place, {"failure": {"text": str(end)}} if isinstance(end, Exception) else {"value": end})
        if still := [place for place in places if place.answer is None]:
            return self._hold(still[0], {"children": [f"call {place.id[1]}" for place in still]})
        return {"answer": {"done": True, "ends": [place.answer for place in places]}}

    def _is_over(self, what: dict[str, Any]) -> bool:
        """Say whether its time has come: what is short is skipped."""
        if not self._stopping and what["until"] <= self._of.ms() + SHORT:
            self._of.skip(what["until"])
        return bool(what["until"] <= self._of.ms())

    def _hold(self, place: _Place, what: dict[str, Any]) -> wire.WorkerStepAnswer | None:
        """End the function for what it waits for, unless steps are being done: nothing comes while it runs."""
        self._waiting[place.id] = what
        return None if self._open else self._suspended()

    def _suspended(self) -> wire.WorkerStepAnswer:
        self._stopping = True
        (verb, name, n), _ = next(iter(self._waiting.items()))
        untils = [what["until"] for what in self._waiting.values() if "until" in what]
        self.until = min(untils, default=None)
        suspension: dict[str, Any] = {"kind": verb, "name": name, "n": n}
        if self.until is not None:
            suspension["until_ms"] = round(self.until)
        for key in ("signals", "prerequisites", "children"):
            if names := sorted({one for what in self._waiting.values() for one in what.get(key, [])}):
                suspension[key] = names
        return {"answer": {"done": False, "suspend": True}, "suspension": cast("wire.Suspension", suspension)}


def _copied(value: T) -> T:
    """Give what comes out behind JSON: what the function does with it changes nothing here."""
    copy: T = json.loads(json.dumps(value))
    return copy


def _error(kind: str, text: str) -> dict[str, Any]:
    return {"done": False, "error": {"kind": kind, "text": text}}


def _named(place: _Id) -> str:
    verb, name, n = place
    return f'{verb} "{name}"' + (f" (number {n})" if n > 1 else "")


def _late(request: dict[str, Any]) -> dict[str, Any]:
    """Say what becomes of a wait whose time is over."""
    on_deadline = request.get("approval", {}).get("on_deadline")
    if on_deadline in ("approve", "reject"):
        return {"value": _decision(on_deadline == "approve")}
    if on_deadline == "fail":
        return {"failure": {"text": "nobody has decided in time"}}
    return {"timed_out": True}


def _decision(given: Decision | bool) -> dict[str, Any]:
    if isinstance(given, bool):
        given = Decision(given, "", "", {})
    return {"approved": given.approved, "by": given.by, "comment": given.comment, "answers": given.answers}
