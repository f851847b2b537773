"""What alpha has measured: points near a line that nobody knows yet."""
import os

points = int(os.environ["RAMET_PARAM_POINTS"])
with open(os.environ["RAMET_RESULT"], "w") as out:
    out.write("xy=" + " ".join(f"{x}:{3 * x + 2 + (-1) ** x}" for x in range(points)) + "\n")
