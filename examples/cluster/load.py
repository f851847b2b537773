"""Hands in jobs and places orders at three nodes until it is told to stop, and then looks whether all ran.

Each call goes to one node; where that does not answer, or stops, the next is asked the
same under the same key, so that nothing is done twice. A call that no node answers within
a minute has failed.
"""

import json
import signal
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid

PATIENCE = 60
nodes = [argument.split("=", 1) for argument in sys.argv[1:]]
stopped = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: stopped.set())

lock = threading.Lock()
jobs: list[str] = []
orders: list[str] = []
calls = elsewhere = failed = 0


def call(first: int, path: str, body: object = None) -> dict:
    """Asks one node, and the others where that has no answer."""
    global calls, elsewhere, failed
    key, begun, at = str(uuid.uuid4()), time.monotonic(), first
    with lock:
        calls += 1
    while True:
        url, token = nodes[at % len(nodes)]
        request = urllib.request.Request(url + path, headers={"Authorization": "Bearer " + open(token).read().strip()})
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
            request.add_header("Idempotency-Key", key)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return json.load(answer)
        except (urllib.error.URLError, OSError) as error:
            status = getattr(error, "code", 503)
            if status == 404 and body is None:
                return {}  # an event that is stored, and not handled yet
            if status not in (429, 503) or time.monotonic() - begun > PATIENCE:
                with lock:
                    failed += 1
                print(f"failed: {path}: {error}: {getattr(error, 'read', bytes)()!r}", flush=True)
                raise
        with lock:
            elsewhere += 1
        at += 1
        time.sleep(0.05)


def hand_in(first: int) -> None:
    """Hands in jobs and places orders, one after the other."""
    while not stopped.is_set():
        order = str(uuid.uuid4())
        call(first, "/v1/contexts/1/events", {"aggregate_type": "Order", "aggregate_id": order, "event_type": "OrderPlaced", "payload": {}})
        answer = call(first, "/v1/contexts/1/jobs", {"script_type": "rhai", "script": "40 + 2"})
        with lock:
            orders.append(order)
            jobs.append(answer["jobs"][0]["key"])
            if len(jobs) % 25 == 0:
                print(len(jobs), "jobs", flush=True)
        stopped.wait(0.05)


threads = [threading.Thread(target=hand_in, args=(n,)) for n in range(len(nodes))]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()

ended = 0
for n, job in enumerate(jobs):
    caller, number = job.split(":")[1:]
    ended += call(n, f"/v1/contexts/1/jobs/{caller}/{number}/wait")["status"] == "finished"


def versions(first: int, order: str) -> int:
    """How many changes an order had until it was paid: two, unless one was lost or came twice."""
    for _ in range(10 * PATIENCE):
        instance = call(first, f"/v1/contexts/1/sagas/order/instances/{order}")
        if instance.get("status") == "ended":
            return instance["version"]
        time.sleep(0.1)
    return 0


paid = sum(versions(n, order) == 2 for n, order in enumerate(orders))
print(f"{calls} calls: {failed} failed")
print(f"{elsewhere} were asked again at another node")
print(f"{len(jobs)} jobs: {ended} finished, {len(set(jobs))} of them different")
print(f"{len(orders)} orders: {paid} paid once")
sys.exit(failed > 0 or paid != len(orders) or ended != len(jobs) or len(set(jobs)) != len(jobs))
