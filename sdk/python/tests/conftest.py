"""A real node for the tests: $RAMET_BINARY, or one that is built here."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import ramet

ROOT = Path(__file__).resolve().parents[3]
NAME = "nina"


@pytest.fixture(scope="session")
def binary(tmp_path_factory: pytest.TempPathFactory) -> str:
    if given := os.environ.get("RAMET_BINARY"):
        return str(Path(given).resolve())
    path = tmp_path_factory.mktemp("bin") / "ramet"
    env = {**os.environ, "CGO_ENABLED": "0"}
    subprocess.run(["go", "build", "-trimpath", "-o", str(path), "./cmd/ramet"], cwd=ROOT, check=True, env=env)
    return str(path)


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


class Node:
    """A node as a process of its own, on a data folder that stays when it is killed."""

    def __init__(self, binary: str, data: Path) -> None:
        self.binary, self.data = binary, data
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}#{NAME}"
        self.key = data / "operator.key"
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> Node:
        command = [self.binary, "serve", "--data", str(self.data), "--listen", f"127.0.0.1:{self.port}", "--name", NAME]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        said = []
        for line in self.process.stderr:
            said.append(line)
            if "node started" in line:
                threading.Thread(target=deque, args=(self.process.stderr, 0), daemon=True).start()  # reads it all
                return self
        raise AssertionError("".join(said))

    def end(self, number: int = signal.SIGTERM) -> None:
        if self.process is not None:
            self.process.send_signal(number)
            self.process.wait()
            self.process = None

    def app(self) -> ramet.App:
        return ramet.App(url=self.url, context=1, key_file=self.key)

    def environ(self) -> dict[str, str]:
        rest = {name: value for name, value in os.environ.items() if name != "RAMET_TOKEN"}
        return {**rest, "RAMET_NODE": self.url, "RAMET_KEY": str(self.key)}

    def token(self) -> str:
        command = [self.binary, "token", "--key", str(self.key), "--audience", NAME]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture(scope="session")
def shared_node(binary: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    node = Node(binary, tmp_path_factory.mktemp("node"))
    yield node.start()
    node.end()


@pytest.fixture
def node(shared_node: Node) -> Node:
    """A node that tests share: each has functions of its own names."""
    return shared_node


@pytest.fixture
def own_node(binary: str, tmp_path: Path) -> Iterator[Node]:
    """A node that a test may kill."""
    node = Node(binary, tmp_path)
    yield node.start()
    node.end()


@pytest.fixture
def python_worker(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Starts `python -m ramet worker tasks:app` with a module of that text."""
    started: list[subprocess.Popen[bytes]] = []

    def start(node: Node, text: str, *args: str) -> subprocess.Popen[bytes]:
        folder = tmp_path / "program"
        folder.mkdir(exist_ok=True)
        (folder / "tasks.py").write_text(text)
        command = [sys.executable, "-m", "ramet", "worker", "tasks:app", *args]
        with (tmp_path / "worker.out").open("ab") as out:
            process = subprocess.Popen(command, cwd=folder, env=node.environ(), stdout=out, stderr=out)
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
