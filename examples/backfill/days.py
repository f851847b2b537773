"""Lists the days of a time as JSON."""
import datetime
import json
import os

first, last = (datetime.date.fromisoformat(os.environ[f"RAMET_PARAM_{name}"]) for name in ("FROM", "TO"))
days = [str(first + datetime.timedelta(n)) for n in range((last - first).days + 1)]
with open(os.environ["RAMET_RESULT"], "w") as result:
    json.dump({"list": json.dumps(days)}, result)
