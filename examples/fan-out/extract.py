"""Fetches the orders of one shop, leaves out what makes no sense, and leaves the rest as a file.

The orders are made up, the same for the same shop and day.
"""
import csv
import json
import os
import random
import sys

RATES = {"NOK": 0.085, "UAH": 0.021, "EUR": 1.0, "EGP": 0.018, "PEN": 0.26, "USD": 0.87}

shop, day = json.loads(os.environ["RAMET_ITEM"]), os.environ["RAMET_PARAM_DAY"]
if shop["name"] == os.environ["RAMET_PARAM_CLOSED"]:
    sys.exit(f"{shop['name']} does not answer")  # exit code 1: not one of those that are tried again

source = random.Random(f"{shop['name']}/{day}")
rows, bad = 0, 0
with open("orders.csv", "w", newline="") as f:
    out = csv.writer(f)
    for order in range(source.randint(200, 400)):
        amount = source.gauss(40, 15)
        if amount <= 0:
            bad += 1
            continue
        rows += 1
        out.writerow([day, shop["name"], order, round(amount * RATES[shop["currency"]] * 100)])

with open(os.environ["RAMET_RESULT"], "w") as result:
    result.write(f"rows={rows}\nbad={bad}\n")
print(f"{shop['name']}: {rows} orders, {bad} make no sense")
