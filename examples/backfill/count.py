"""Counts the visits of a day, which are made up. Done twice for the same day, it comes to the same."""
import os
import random

day = os.environ["RAMET_PARAM_DAY"]
visits = random.Random(day).randint(800, 1200)
print(f"{day}: {visits} visits")
with open(os.environ["RAMET_RESULT"], "w") as result:
    result.write(f"visits={visits}\n")
