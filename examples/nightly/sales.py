"""Adds up one shop's till roll. The roll is made up, the same for the same day and shop."""
import os
import random
import sys

day, rate = os.environ["RAMET_PARAM_DAY"], float(os.environ["RAMET_PARAM_RATE"])
shop = int(os.environ["RAMET_SHARD_INDEX"])
if os.environ["RAMET_PARAM_CLOSED"] == str(shop):
    sys.exit(f"shop {shop} does not answer")

roll = random.Random(f"{day}/{shop}")
cents = 0
for _ in range(20_000):
    paid = roll.randint(99, 9_999)
    cents += round(paid * rate) if roll.random() < 0.2 else paid

with open(os.environ["RAMET_RESULT"], "w") as result:
    result.write(f"params.shop_{shop}={cents}\n")
