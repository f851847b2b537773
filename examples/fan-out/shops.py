"""Finds which shops were open: a real one asks a service. A list goes into the result as JSON."""
import datetime
import json
import os

SHOPS = [("Oslo", "NOK"), ("Kyiv", "UAH"), ("Ghent", "EUR"), ("Porto", "EUR"), ("Cairo", "EGP"), ("Lima", "PEN"), ("Quito", "USD")]

day = datetime.date.fromisoformat(os.environ["RAMET_PARAM_DAY"])
shops = [{"name": name, "currency": currency} for n, (name, currency) in enumerate(SHOPS) if n != day.weekday()]  # each rests on one day
print(f"{len(shops)} shops were open on {day:%A}")
with open(os.environ["RAMET_RESULT"], "w") as result:
    json.dump({"open": json.dumps(shops)}, result)
