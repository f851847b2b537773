"""What programs do with redis-py, at the Redis door: library.py URL."""
import sys
import threading
import time

import redis

r = redis.Redis.from_url(sys.argv[1], decode_responses=True)
assert r.ping()

assert r.hset("h", mapping={"a": 1, "b": "two"}) == 2
assert r.hgetall("h") == {"a": "1", "b": "two"}
assert r.hget("h", "nope") is None
assert r.type("h") == "hash"
assert r.set("s", b"\x00\r\n", ex=60) and r.ttl("s") == 60
assert r.get("nope") is None
assert r.incr("n") == 1

p = r.pipeline()
for i in range(100):
    p.lpush("q", i)
assert p.execute()[-1] == 100

p = r.pipeline(transaction=True)
p.rpoplpush("q", "other")
p.llen("q")
assert p.execute() == ["0", 99]


def add_one():
    def do(p):
        n = int(p.get("n"))
        p.multi()
        p.set("n", n + 1)

    r.transaction(do, "n")


threads = [threading.Thread(target=add_one) for _ in range(5)]
[t.start() for t in threads]
[t.join() for t in threads]
assert r.get("n") == "6", r.get("n")

begun = time.time()
assert r.blpop(["empty"], timeout=1) is None
assert 0.9 < time.time() - begun < 5
threading.Timer(0.1, lambda: r.rpush("later", "x")).start()
assert r.brpop(["empty", "later"], timeout=20) == ("later", "x")
assert r.lmove("q", "other", "LEFT", "RIGHT") == "99"

assert r.sadd("set", "a", "b") == 2
assert r.smembers("set") == {"a", "b"}
assert r.sismember("set", "a")

for i in range(120):
    r.hset(f"scan:{i}", "a", 1)
assert len(set(r.scan_iter("scan:*", count=25))) == 120
assert dict(r.hscan_iter("h")) == {"a": "1", "b": "two"}
assert set(r.sscan_iter("set", count=1)) == {"a", "b"}

sub = r.pubsub()
sub.subscribe("news")
assert sub.get_message(timeout=5)["type"] == "subscribe"
r.publish("news", "hello")
assert sub.get_message(timeout=5)["data"] == "hello"
sub.close()

try:
    r.lpush("h", 1)
    raise AssertionError("a hash is no list")
except redis.ResponseError as e:
    assert str(e).startswith("WRONGTYPE"), e
try:
    r.hset("ramet:x", "a", 1)
    raise AssertionError("the node's own keys are its own")
except redis.exceptions.NoPermissionError:
    pass
try:
    redis.Redis.from_url(sys.argv[1].replace("10:", "11:", 1)).ping()
    raise AssertionError("another actor's token")
except (redis.AuthenticationError, redis.ResponseError):
    pass
assert r.info()["ramet_node"] == "nina"
assert r.client_setname("me") and r.client_getname() == "me"
