"""An API with limits: it answers too many questions with 429 and says when to come again, is away at times, and lacks a page."""
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PAGES = [f"p{n}" for n in range(1, 13)]
asked = {}  # how often each page was asked for


class API(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/pages":
            return self.answer(200, PAGES)
        page = self.path.removeprefix("/pages/")
        asked[page] = asked.get(page, 0) + 1
        number = int(page.removeprefix("p"))
        if number == 7:
            return self.answer(404, {"error": "no such page"})
        if number % 5 == 0 and asked[page] == 1:
            return self.answer(429, {"error": "too many questions"}, {"Retry-After": "1"})
        if number == 11 and asked[page] == 1:
            return self.answer(503, {"error": "back soon"})
        self.answer(200, {"page": page, "words": 100 * number})

    def answer(self, status, body, headers=()):
        text = json.dumps(body).encode()
        self.send_response(status)
        for name, value in dict(headers, **{"Content-Type": "application/json", "Content-Length": str(len(text))}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


host, port = sys.argv[1].split(":")
ThreadingHTTPServer((host, int(port)), API).serve_forever()
