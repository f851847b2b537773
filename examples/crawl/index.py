"""Asks which pages there are."""
import json
import os
import sys
import urllib.request

try:
    with urllib.request.urlopen(os.environ["RAMET_PARAM_API"] + "/pages", timeout=10) as answer:
        pages = json.load(answer)
except OSError as error:
    print(error, file=sys.stderr)
    sys.exit(75)  # EX_TEMPFAIL of sysexits.h
with open(os.environ["RAMET_RESULT"], "w") as result:
    json.dump({"pages": json.dumps(pages)}, result)
