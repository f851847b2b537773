# A mailing: each mail is a step, and its key keeps the mail service from sending it twice.
import os
import urllib.request

import ramet


def send(step, to):
    request = urllib.request.Request(os.environ["OUTSIDE"] + "/mail", to.encode(), {"Idempotency-Key": step.key})
    urllib.request.urlopen(request).close()


for n in range(500):
    ramet.step("mail", lambda step: send(step, f"user-{n}@example.org"), retries=5)
