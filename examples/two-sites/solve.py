"""Runs at beta: the line that is nearest to all points. It finds what it needs as if it ran at alpha."""
import json
import os

with open(os.environ["RAMET_INPUT"]) as file:
    text = json.load(file)["needs"]["measure"]["result"]["xy"]
points = [tuple(map(int, p.split(":"))) for p in text.split()]
n, sx, sy = len(points), sum(x for x, _ in points), sum(y for _, y in points)
slope = (n * sum(x * y for x, y in points) - sx * sy) / (n * sum(x * x for x, _ in points) - sx * sx)
print(f"{n} points are solved as {os.environ['RAMET_JOB']}")
with open(os.environ["RAMET_RESULT"], "w") as out:
    out.write(f"slope={slope:.2f}\nstart={(sy - slope * sx) / n:.2f}\n")
