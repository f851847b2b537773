"""A real node for the tests: $RAMET_BINARY, or one that is built here."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
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

    def __init__(
        self, binary: str, data: Path, *, name: str = NAME, board: str = "", beside: Node | None = None
    ) -> None:
        self.binary, self.data, self.name = binary, data, name
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}#{name}"
        self.key: Path = beside.key if beside else data / "operator.key"  # a board has one operator
        self.board = ["--board", board] if board else []
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> Node:
        where = ["--data", str(self.data), "--listen", f"127.0.0.1:{self.port}", *self.board]
        command = [self.binary, "serve", "--name", self.name, *where]
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

    def signal(self, number: int) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def app(self) -> ramet.App:
        return ramet.App(url=self.url, context=1, key_file=self.key)

    def environ(self) -> dict[str, str]:
        rest = {name: value for name, value in os.environ.items() if name != "RAMET_TOKEN"}
        return {**rest, "RAMET_NODE": self.url, "RAMET_KEY": str(self.key)}

    def token(self) -> str:
        command = [self.binary, "token", "--key", str(self.key), "--audience", self.name]
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
def two_nodes(binary: str, tmp_path: Path) -> Iterator[tuple[Node, Node]]:
    """Two nodes on one board, which a test may kill and stop."""
    if shutil.which("redis-server") is None:
        if os.environ.get("RAMET_TEST_SERVERS") == "required":
            raise AssertionError("redis-server is not installed")
        pytest.skip("redis-server is not installed")
    with tempfile.TemporaryDirectory() as folder:  # tmp_path has long names, which do not fit into a socket's
        path = f"{folder}/redis.sock"
        command = ["redis-server", "--port", "0", "--unixsocket", path, "--dir", folder, "--save", ""]
        redis = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            assert redis.stdout is not None
            said = ""
            while "ready to accept connections" not in said:
                line = redis.stdout.readline()
                assert line, said
                said += line
            first = Node(binary, tmp_path / "nina", board=f"unix://{path}").start()
            second = Node(binary, tmp_path / "nora", name="nora", board=f"unix://{path}", beside=first).start()
            yield first, second
            for node in (first, second):
                node.end(signal.SIGKILL)
        finally:
            redis.kill()
            redis.wait()


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
