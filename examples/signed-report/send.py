"""Sends the report, with what whoever signed has filled in: the answers are the result of the step."""
import json
import os

with open(os.environ["RAMET_INPUT"]) as f:
    needs = json.load(f)["needs"]
signed, gross = needs["sign"]["result"], int(needs["figures"]["result"]["gross"])
net = gross - float(signed["provision"])

with open(os.path.join(os.environ["RAMET_ARTIFACTS"], "figures", "report.html")) as page:
    print(f"to the {signed['audience']}: {len(page.read())} bytes, net {net:.2f}; {signed['comment']}")
with open(os.environ["RAMET_RESULT"], "w") as result:
    result.write(f"net={net:.2f}\nto={signed['audience']}\n")
