#!/usr/bin/env python3
"""A mycojobs actor that knows only Redis: it writes two jobs and a flow of
them, queues the first, and waits until the flow has ended.

    actor.py URL CALLER SCRIPT_TYPE

URL is redis://host:port/CONTEXT, with a token as password where the server
wants one. It uses the keys and fields of mycojobs, and no other commands than
HSET, LPUSH and HGETALL.
"""
import json
import sys
import time

import redis

url, caller, script_type = sys.argv[1], int(sys.argv[2]), sys.argv[3]
r = redis.Redis.from_url(url, decode_responses=True)
context = int(r.connection_pool.connection_kwargs.get("db", 0))
flow = int(time.time()) % 1_000_000
now = int(time.time())


def job(number, script, needs):
    """Writes a job and returns its key."""
    key = f"job:{caller}:{number}"
    r.hset(key, mapping={
        "id": number, "caller_id": caller, "context_id": context,
        "script": script, "script_type": script_type, "timeout": 60, "retries": 0,
        "env_vars": "{}", "result": "{}", "prerequisites": "[]", "dependends": json.dumps(needs),
        "created_at": now, "updated_at": now, "status": "dispatched",
    })
    return key


first, second = 10 * flow + 1, 10 * flow + 2
key = job(first, 'echo "{\\"weight\\": \\"7\\"}" >"$RAMET_RESULT"', [])
job(second, 'echo done', [first])
r.hset(f"flow:{flow}", mapping={
    "id": flow, "caller_id": caller, "context_id": context, "jobs": json.dumps([first, second]),
    "env_vars": "{}", "result": "{}", "created_at": now, "updated_at": now, "status": "dispatched",
})
r.lpush(f"queue:{script_type}", key)

while True:
    f = r.hgetall(f"flow:{flow}")
    if f["status"] in ("finished", "error"):
        break
    time.sleep(0.05)
print("flow", f["status"])
for number in json.loads(f["jobs"]):
    j = r.hgetall(f"job:{caller}:{number}")
    print("job", j["status"], json.loads(j["result"]).get("weight", "-"))
