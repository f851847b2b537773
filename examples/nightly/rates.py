"""Looks up what a foreign coin was worth, and leaves it to all steps after this one."""
import datetime
import os

day = datetime.date.fromisoformat(os.environ["RAMET_PARAM_DAY"])
rate = 1.05 + day.toordinal() % 17 / 100

# A result whose name begins with "params." is a param of all that comes later.
with open(os.environ["RAMET_RESULT"], "w") as result:
    result.write(f"params.rate={rate:.2f}\n")
print(f"{day}: {rate:.2f}")
