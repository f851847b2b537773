"""Answers on $LISTEN: POST /reports asks for a report, GET /reports/KEY shows how far it is."""

from __future__ import annotations

import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

from tasks import app, report

import ramet


class Web(BaseHTTPRequestHandler):
    """The requests."""

    def do_POST(self) -> None:
        """Submit a report; the answer does not wait for it."""
        form = parse_qs(self.rfile.read(int(self.headers.get("Content-Length", 0))).decode())
        rows = form.get("rows", [""])[0]
        if self.path != "/reports" or not rows.isdigit():
            return self.answer(400, "rows: want a number")
        try:
            # Whoever sends a key of their own gets one report, however often they send.
            handle = report.using(key=self.headers.get("Idempotency-Key")).submit(rows=int(rows))
        except ramet.RametError as err:
            return self.answer(502, str(err))
        return self.answer(202, str(handle.key))

    def do_GET(self) -> None:
        """Show how far a report is: whoever asks again sees more."""
        try:
            key = ramet.JobKey.parse(self.path.removeprefix("/reports/"))
            job, lines = app.client.show(key), app.client.log_page(key)
        except (ValueError, ramet.NotFound) as err:
            return self.answer(404, str(err))
        except ramet.RametError as err:
            return self.answer(502, str(err))
        text = [f"{job['status']}, attempt {job.get('attempt', 0)}", *(line["line"] for line in lines)]
        if job["status"] == "finished":
            text.append(f"total {job['result']['total']}")
        return self.answer(200, "\n".join(text))

    def answer(self, status: int, text: str) -> None:
        """Send an answer."""
        data = f"{text}\n".encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


if __name__ == "__main__":
    host, _, port = os.environ["LISTEN"].rpartition(":")
    server = ThreadingHTTPServer((host, int(port)), Web)
    print(f"http://{host}:{server.server_port}", flush=True)
    server.serve_forever()
