"""Asks for one page. What may pass ends with exit code 75, all else with 1."""
import json
import os
import sys
import urllib.error
import urllib.request

page = os.environ["RAMET_ITEM"]
try:
    with urllib.request.urlopen(f"{os.environ['RAMET_PARAM_API']}/pages/{page}", timeout=10) as answer:
        words = json.load(answer)["words"]
except urllib.error.HTTPError as error:
    print(f"{page}: {error}", file=sys.stderr)
    if after := error.headers["Retry-After"]:  # seconds here; the next attempt begins no earlier
        with open(os.environ["RAMET_RESULT"], "w") as result:
            result.write(f"retry_after={after}\n")
    sys.exit(75 if error.code == 429 or error.code >= 500 else 1)
except OSError as error:  # nobody is there, or the line was cut
    print(f"{page}: {error}", file=sys.stderr)
    sys.exit(75)
with open(os.environ["RAMET_RESULT"], "w") as result:
    result.write(f"words={words}\n")
