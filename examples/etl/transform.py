"""Reads a range of rows, leaves out what cannot be, and keeps the extremes of each station."""
import json
import math
import os

STATIONS = ["Oslo", "Kyiv", "Ghent", "Porto", "Cairo"]


def reading(row):
    """Row number `row` of the source; a sensor that fails says -99."""
    hour, station = divmod(row, len(STATIONS))
    if row % 997 == 0:
        return STATIONS[station], -99.0
    mild = 5.0 * station
    return STATIONS[station], mild - 6 + 8 * math.sin(hour / 24 * 2 * math.pi) + 3 * math.sin(hour / 170)


pack, start, end = (int(os.environ[name]) for name in ("RAMET_PACK_ID", "RAMET_PACK_START", "RAMET_PACK_END"))
found, bad = {}, 0
for row in range(start, end + 1):
    station, degrees = reading(row)
    if degrees < -60:
        bad += 1
        continue
    low, high = found.get(station, (degrees, degrees))
    found[station] = (min(low, degrees), max(high, degrees))

# Parts are named by their pack: done twice, it is the same part.
part = {"rows": end - start + 1, "bad": bad, "stations": found}
with open(os.environ["RAMET_RESULT"], "w") as result:
    json.dump({f"params.part_{pack}": json.dumps(part)}, result)
