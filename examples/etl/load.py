"""Loads the parts into a table and asks it."""
import json
import os
import sqlite3

with open(os.environ["RAMET_INPUT"]) as f:
    params = json.load(f)["params"]
parts = [json.loads(text) for name, text in params.items() if name.startswith("part_")]

db = sqlite3.connect("weather.db")
db.execute("create table extreme (station text, low real, high real)")
for part in parts:
    db.executemany("insert into extreme values (?, ?, ?)", [(station, low, high) for station, (low, high) in part["stations"].items()])
db.commit()

for station, low, high in db.execute("select station, min(low), max(high) from extreme group by station order by 2"):
    print(f"{station:6} {low:6.1f} to {high:5.1f}")
where, coldest = db.execute("select station, min(low) from extreme having count(*) > 0").fetchone() or ("nowhere", 0.0)
with open(os.environ["RAMET_RESULT"], "w") as result:
    result.write(f"rows={sum(p['rows'] for p in parts)}\n")
    result.write(f"bad={sum(p['bad'] for p in parts)}\n")
    result.write(f"where={where}\ncoldest={coldest:.1f}\n")
