#!/usr/bin/env python3
"""A rhailib client that knows only Redis: it hands a script to a circle and
waits for the answer on a list of its own.

    client.py URL CIRCLE SCRIPT

It uses no other commands than HSET, LPUSH, BLPOP and DEL.
"""
import json
import sys
import time
import uuid

import redis

url, circle, script = sys.argv[1:4]
r = redis.Redis.from_url(url, decode_responses=True)

task, reply = str(uuid.uuid4()), f"rhai_reply:{uuid.uuid4()}"
now = int(time.time())
r.hset(f"rhai_task_details:{task}", mapping={
    "script": script, "status": "pending", "client_rpc_id": 5, "reply_to_queue": reply, "created_at": now, "updated_at": now,
})
r.lpush(f"rhai_tasks:{circle}", task)
answer = r.blpop(reply, timeout=30)
r.delete(reply)
if answer is None:
    sys.exit("no answer")
message = json.loads(answer[1])
assert message["task_id"] == task, message
print(message["status"], message.get("output", message.get("error")))
