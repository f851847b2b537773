"""Stands in for a model that answers for money, and for a mail service: python outside.py 127.0.0.1:8099.

Both know requests by their idempotency key, as such services do, and write what they did into outside.log.
"""
import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock

host, port = sys.argv[1].split(":")
lock, asked, known = Lock(), 0, {}


def model(messages):
    "What a model says next."
    results = [m["content"] for m in messages if m["role"] == "tool"]
    if not results:
        return {"role": "model", "tool": "count_words", "content": "the quick brown fox"}
    if len(results) == 1:
        return {"role": "model", "tool": "square", "content": results[0]}
    return {"role": "model", "content": f"The square of its words is {results[1]}."}


class Outside(BaseHTTPRequestHandler):
    def do_POST(self):
        global asked
        body = self.rfile.read(int(self.headers["Content-Length"]))
        key = self.headers["Idempotency-Key"]
        with lock:
            asked += 1
            if self.path == "/model" and asked % 2:  # busy, every other time
                return self.answer(503, {"error": "busy"})
            if key not in known:
                known[key] = model(json.loads(body)) if self.path == "/model" else {"sent": True}
                with open("outside.log", "a") as log:
                    print(self.path, key if self.path == "/model" else body.decode(), file=log)
        self.answer(200, known[key])

    def answer(self, status, value):
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(value).encode())

    def log_message(self, *args):
        pass


open("outside.log", "w").close()
ThreadingHTTPServer((host, int(port)), Outside).serve_forever()
