"""Counts what there is to read: a reading an hour from each of five stations."""
import os

rows = int(os.environ["RAMET_PARAM_DAYS"]) * 24 * 5

with open(os.environ["RAMET_RESULT"], "w") as result:
    result.write(f"rows={rows}\n")
    # The last row of the ranges, and with 0 rows none at all: -1.
    result.write(f"steps.transform.pack.end={rows - 1}\n")
print(f"{rows} readings")
