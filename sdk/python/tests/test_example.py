"""examples/web-app/python, with the commands of its README; its worker is killed."""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from conftest import ROOT, Node

import ramet

EXAMPLE = ROOT / "examples" / "web-app" / "python"
WORKER, WEB = re.findall(
    r"^```sh\n(?:LISTEN=\S+ )?python (.*)\n```$", (EXAMPLE / "README.md").read_text(), re.MULTILINE
)


@contextmanager
def process(node: Node, command: str, out: Any = None) -> Iterator[subprocess.Popen[str]]:
    env = {**node.environ(), "RAMET_TOKEN": node.token(), "LISTEN": "127.0.0.1:0"}
    del env["RAMET_KEY"]
    with subprocess.Popen([sys.executable, *shlex.split(command)], cwd=EXAMPLE, env=env, stdout=out, text=True) as p:
        try:
            yield p
        finally:
            p.kill()


def ask(url: str, form: dict[str, str] | None = None, key: str | None = None) -> str:
    data = urllib.parse.urlencode(form).encode() if form is not None else None
    request = urllib.request.Request(url, data, {"Idempotency-Key": key} if key else {})
    with urllib.request.urlopen(request) as answer:
        return str(answer.read().decode())


@contextmanager
def witness() -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Takes notes of reports that are made: their keys and totals."""
    told: list[tuple[str, str]] = []

    class Notes(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            told.append(
                (self.headers["Idempotency-Key"], self.rfile.read(int(self.headers["Content-Length"])).decode())
            )
            self.send_response(204)
            self.end_headers()

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Notes)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", told
    finally:
        server.shutdown()
        server.server_close()


def test_the_report_is_made_though_its_worker_and_the_node_were_killed(
    own_node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = own_node
    app = node.app()
    with witness() as (notify, told), process(node, WEB, out=subprocess.PIPE) as web:
        monkeypatch.setenv("NOTIFY", notify)
        assert web.stdout is not None
        url = web.stdout.readline().strip() + "/reports"
        key = ask(url, {"rows": "20"}, "one").strip()
        assert ask(url, {"rows": "20"}, "one").strip() == key  # sent twice, made once
        assert ask(f"{url}/{key}") == "dispatched, attempt 0\n"
        job = ramet.JobKey.parse(key)
        with process(node, WORKER) as first:
            assert next(iter(app.client.logs(job)))["line"] == "5 %"
            assert ask(f"{url}/{key}").startswith("started, attempt 1\n5 %\n")
            first.kill()
            first.wait()
        patient = WORKER.replace("--lease 5", "--lease 60")
        assert patient != WORKER
        with process(node, patient):  # goes on while there is no node
            lines = (line["line"] for line in app.client.logs(job))
            assert any(line.startswith("attempt 1 ended: its runner was lost") for line in lines)
            assert next(lines) == "5 %"
            node.end(signal.SIGKILL)
            node.start()
            app.client.wait(job, 60)
        done = ask(f"{url}/{key}").splitlines()
        assert (done[0], done[1]) == ("finished, attempt 2", "5 %")
        assert done[-2:] == ["100 %", "total 210"]
        assert told == [(key, "210")]
        for path, form, status in (("/job:1:999", None, 404), ("/x", None, 404), ("", {"rows": "many"}, 400)):
            with pytest.raises(urllib.error.HTTPError, match=str(status)):
                ask(url + path, form)
    app.close()
