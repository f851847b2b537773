"""What alpha makes of beta's answer."""
import json
import os

with open(os.environ["RAMET_INPUT"]) as file:
    solved = json.load(file)["needs"]["solve"]["result"]
with open(os.environ["RAMET_RESULT"], "w") as out:
    out.write(f"line=y = {solved['slope']}x + {solved['start']}\n")
