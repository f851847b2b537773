# An agent: asks a model what to do until it has an answer. What the model said it is never asked again.
import json
import os
import urllib.request

import ramet


def ask(step, messages):
    headers = {"Idempotency-Key": step.key}
    request = urllib.request.Request(os.environ["OUTSIDE"] + "/model", json.dumps(messages).encode(), headers)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


tools = {"count_words": lambda text: len(text.split()), "square": lambda n: n * n}

messages = [{"role": "user", "content": "How much is the square of the number of words in: the quick brown fox?"}]
while True:
    said = ramet.step("model", lambda step: ask(step, messages), retries=5, after=0.1)
    messages.append(said)
    if "tool" not in said:
        break
    result = ramet.step(said["tool"], lambda: tools[said["tool"]](said["content"]))
    messages.append({"role": "tool", "content": result})
    if os.environ["RAMET_ATTEMPT"] == "1" and said["tool"] == "square":
        os.kill(os.getpid(), 9)  # the power fails

print(said["content"])
