"""The slow work of the web application, and the app by which it is submitted and run."""

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
    return {"rows": rows, "total": total}
