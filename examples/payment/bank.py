"""A bank: it charges once for each key, and nobody more than 100."""
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

charges = {}  # by key


class Bank(BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        key = self.headers["Idempotency-Key"]
        if asked["amount"] > 100:
            return self.answer(402, {"error": "no funds"})
        charges.setdefault(key, {"charge": f"c-{len(charges) + 1}", "amount": asked["amount"]})
        self.answer(200, charges[key])

    def answer(self, status, body):
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


host, port = sys.argv[1].split(":")
ThreadingHTTPServer((host, int(port)), Bank).serve_forever()
