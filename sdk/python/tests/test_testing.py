from __future__ import annotations

import asyncio
import logging

import pytest

import ramet
from ramet import testing
from ramet.job import KEPT_LINES

app = ramet.App(context=1)  # connects to nothing
log = logging.getLogger("test.testing")


@app.job("mail")
def mail(to: str) -> dict[str, int]:
    log.info("to %s", to)
    if "@" not in to:
        raise ramet.Fail(f"{to} is no address")
    return {"sent": 1}


@app.job()
async def waits() -> str:
    await asyncio.sleep(0)
    raise ramet.RetryAfter(1.5)


def test_functions_run_without_a_node() -> None:
    outcome = testing.run(mail, to="a@b")
    assert (outcome.verdict, outcome.result, outcome.logs) == ("succeeded", {"sent": "1"}, ["to a@b"])
    outcome = testing.run(mail, "nobody")
    assert (outcome.verdict, outcome.error, outcome.final) == ("failed", "nobody is no address", True)
    outcome = testing.run(waits)
    assert (outcome.verdict, outcome.after, waits.name) == ("failed", 1.5, "waits")


def test_lines_that_no_node_takes_are_bounded() -> None:
    """Of too many the last are kept, behind a line that counts the others."""

    @app.job()
    def wordy() -> None:
        job = ramet.current_job()
        for n in range(KEPT_LINES + 5):
            job.log(f"line {n}")
        sent: list[str] = []
        while lines := job.take():
            sent += [line["line"] for line in lines]
            job.sent()
        kept = [f"line {n}" for n in range(5, KEPT_LINES + 5)]
        assert sent == ["5 lines are missing here: they could not be sent", *kept]

    outcome = testing.run(wordy)
    assert (outcome.verdict, outcome.logs) == ("succeeded", [])


def test_a_job_of_ones_own() -> None:
    @app.job()
    def told() -> None:
        ramet.current_job().check()

    assert testing.run_job(told, testing.make_job(), stopped=ramet.Cause.CANCELLED).verdict == "stopped"
    with pytest.raises(LookupError):
        ramet.current_job()


def test_two_functions_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="'mail' already"):
        app.job("mail")(lambda: None)
