"""Counts the errors among a hundred lines of a log, and adds them to those before."""
import os
import time

start, end = int(os.environ["RAMET_PACK_START"]), int(os.environ["RAMET_PACK_END"])
lines, errors = int(os.environ["RAMET_PARAM_LINES"]), int(os.environ["RAMET_PARAM_ERRORS"])


def line(number):
    """Line `number` of the log, which is made up: one in 31 is an error."""
    return f"{number} {'ERROR disk is full' if number % 31 == 30 else 'ok'}"


time.sleep(0.05)  # the lines take their time to come
errors += sum("ERROR" in line(n) for n in range(start, end + 1))
lines += end - start + 1

# A job may run twice, when its node dies in the middle. Its result counts once, and so do these sums.
with open(os.environ["RAMET_RESULT"], "w") as result:
    result.write(f"params.lines={lines}\nparams.errors={errors}\n")
