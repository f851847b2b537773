"""Writes down what came of the release."""
import json
import os

with open(os.environ["RAMET_INPUT"]) as f:
    needs = json.load(f)["needs"]

states = ", ".join(f"{name} {needs[name]['state']}" for name in sorted(needs))
print(states)
with open(os.environ["RAMET_RESULT"], "w") as result:
    result.write(f"text={states}\n")
