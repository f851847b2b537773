#!/usr/bin/env python3
"""A mycojobs runner that knows only Redis: it takes jobs of one type from their
queue and runs them with sh.

    runner.py URL SCRIPT_TYPE COUNT

It uses no other commands than BRPOP, HGETALL and HSET.
"""
import json
import os
import subprocess
import sys
import tempfile
import time

import redis

url, script_type, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
r = redis.Redis.from_url(url, decode_responses=True)

for _ in range(count):
    _, key = r.brpop(f"queue:{script_type}")
    job = r.hgetall(key)
    r.hset(key, mapping={"status": "started", "updated_at": int(time.time())})
    with tempfile.NamedTemporaryFile("r") as result:
        env = {**os.environ, **json.loads(job["env_vars"]), "RAMET_RESULT": result.name}
        code = subprocess.run(["sh", "-c", job["script"]], env=env, stdout=subprocess.DEVNULL).returncode
        text = result.read().strip()
    if not text.startswith("{"):  # lines of key=value
        text = json.dumps(dict(line.split("=", 1) for line in text.splitlines()))
    r.hset(key, mapping={"result": text, "status": "finished" if code == 0 else "error", "updated_at": int(time.time())})
    print("ran", key.split(":")[0], code)
