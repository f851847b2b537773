#!/usr/bin/env python3
"""A rhailib worker that knows only Redis: it takes tasks of a circle and works
them out. It can only add and multiply whole numbers, which is the same in Rhai.

    worker.py URL CIRCLE COUNT

It uses no other commands than BLPOP, HGETALL, HSET and LPUSH.
"""
import ast
import json
import operator
import sys
import time

import redis

url, circle, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
r = redis.Redis.from_url(url, decode_responses=True)
operators = {ast.Add: operator.add, ast.Mult: operator.mul}


def work_out(node):
    if isinstance(node, ast.BinOp):
        return operators[type(node.op)](work_out(node.left), work_out(node.right))
    return int(ast.literal_eval(node))


for _ in range(count):
    _, task = r.blpop(f"rhai_tasks:{circle}")
    key = f"rhai_task_details:{task}"
    details = r.hgetall(key)
    r.hset(key, mapping={"status": "processing", "updated_at": int(time.time())})
    try:
        end = {"status": "completed", "output": str(work_out(ast.parse(details["script"], mode="eval").body))}
    except Exception as e:  # whatever it is, the client is told
        end = {"status": "error", "error": f"{type(e).__name__}: {e}"}
    r.hset(key, mapping={**end, "updated_at": int(time.time())})
    if details.get("reply_to_queue"):
        r.lpush(details["reply_to_queue"], json.dumps({"task_id": task, **end}))
    print("worked out", end["status"])
