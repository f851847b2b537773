"""The commands and programs of the pages, run as a reader would."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, Node

import ramet
from ramet import durable

BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"# (\w+\.py)\n")


def argv(command: str) -> list[str]:
    first, *rest = shlex.split(command)
    assert first == "python"
    return [sys.executable, *rest]


@pytest.mark.parametrize("page", ["docs/python.md", "docs/from/celery.md", "sdk/python/README.md"])
def test_what_a_page_shows_is_what_comes_out(page: str, node: Node, tmp_path: Path) -> None:
    env = node.environ()
    workers: list[subprocess.Popen[bytes]] = []
    printed: str | None = None
    ran = 0

    def run(command: list[str]) -> str:
        nonlocal ran
        ran += 1
        p = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
        assert p.returncode == 0, p.stderr
        return p.stdout

    try:
        for kind, text in BLOCK.findall((ROOT / page).read_text()):
            if kind == "python" and (named := NAMED.match(text)):
                (tmp_path / named[1]).write_text(text)
            elif kind == "python":
                (tmp_path / "block.py").write_text(text)
                for _ in range(2 if "key=" in text else 1):  # which says that it may be run again
                    run([sys.executable, "block.py"])
            elif kind.startswith("sh") and " worker " in text:
                workers.append(subprocess.Popen(argv(text), cwd=tmp_path, env=env))
            elif kind == "sh":
                printed = run(argv(text))
            elif printed is not None:
                assert printed == text
                printed = None
    finally:
        for worker in workers:
            worker.terminate()
            assert worker.wait() == 0
    assert workers
    assert ran


SUBMIT = "import ramet; print(ramet.App(context=1).submit('mail', {'to': 'ada'}).result()['value'])"


@pytest.mark.parametrize(
    ("page", "submit", "answer"),
    [("docs/tour.md", ["mail.py", "ada"], "sent"), ("README.md", ["-c", SUBMIT], "sent to ada")],
    ids=["the tour", "the README"],
)
def test_the_program_of_a_page_works_and_sends(
    page: str, submit: list[str], answer: str, node: Node, tmp_path: Path
) -> None:
    blocks = BLOCK.findall((ROOT / page).read_text())
    (program,) = [text for kind, text in blocks if kind == "python" and text.startswith(("# mail.py", "# mailer.py"))]
    (tmp_path / "mail.py").write_text(program)
    worker = subprocess.Popen([sys.executable, "mail.py"], cwd=tmp_path, env=node.environ())
    try:
        sent = subprocess.run(
            [sys.executable, *submit], cwd=tmp_path, env=node.environ(), capture_output=True, text=True
        )
        assert (sent.returncode, sent.stdout) == (0, answer + "\n"), sent.stderr
    finally:
        worker.terminate()
        worker.wait()


def public(of: type) -> set[str]:
    return {name for name in vars(of) if not name.startswith("_")}


def test_the_page_names_whatever_a_function_its_job_and_its_handle_have() -> None:
    page = (ROOT / "docs/python.md").read_text()
    words = set(re.findall(r"\w+", " ".join(re.findall(r"`[^`\n]+`", page))))
    inner = {"held", "stop", "remember", "suspension", "take", "sent", "unsent", "shut", "overfull", "close"}
    names = (
        set(ramet.Options.__dataclass_fields__)
        | (public(ramet.Job) - inner)
        | public(ramet.Handle)
        | public(ramet.FlowHandle)
    )
    assert names - words == set()
    assert set(ramet.wire.Input.__annotations__) - {"flow", "step", "shard", "pack", "round"} - words == set()
    functions = {name for name in durable.__all__ if name.islower()}
    assert functions == public(ramet.Steps)
    assert functions - words == set()


def test_every_name_of_the_package_is_there() -> None:
    assert all(hasattr(ramet, name) for name in ramet.__all__)
