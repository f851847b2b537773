"""The slow work of the web application, and the app by which it is submitted and run."""

from __future__ import annotations

import os
import urllib.request
from typing import TypedDict

import ramet

app = ramet.App(context=1)  # where, and as whom: $RAMET_NODE and $RAMET_TOKEN


class Sum(TypedDict):
    """What comes of a report."""

    rows: int
    total: int


@app.job("report", retries=3)
def report(rows: int) -> Sum:
    """Make a report."""
    job = ramet.current_job()
    if rows < 1:
        raise ramet.Fail(f"rows is {rows}: want at least 1")
    total = 0
    for row in range(1, rows + 1):
        job.sleep(0.1)  # ends when the job is cancelled
        total += row
        job.log(f"{100 * row // rows} %")
    notify(job.key, total)
    return {"rows": rows, "total": total}


def notify(key: ramet.JobKey, total: int) -> None:
    """Tell $NOTIFY, if there is one, that a report is made.

    A worker that dies before its end is known to the node has told it already, and the next one tells it again: the
    key, which is the same in all attempts, says that it is the same report.
    """
    if where := os.environ.get("NOTIFY"):
        request = urllib.request.Request(where, str(total).encode(), {"Idempotency-Key": str(key)})
        urllib.request.urlopen(request, timeout=10).close()
