"""examples/web-app/python, with the commands of its README; its worker is killed."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
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


def test_the_report_is_made_though_its_worker_was_killed(node: Node) -> None:
    app = node.app()
    with process(node, WEB, out=subprocess.PIPE) as web:
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
        with process(node, WORKER):
            app.client.wait(job, 60)
        done = ask(f"{url}/{key}").splitlines()
        assert (done[0], done[1]) == ("finished, attempt 2", "5 %")
        assert done[-2:] == ["100 %", "total 210"]
        for path, form, status in (("/job:1:999", None, 404), ("/x", None, 404), ("", {"rows": "many"}, 400)):
            with pytest.raises(urllib.error.HTTPError, match=str(status)):
                ask(url + path, form)
    app.close()
