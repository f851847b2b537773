"""Where the nodes of a board are, how one proves oneself there, and which of them is asked."""

from __future__ import annotations

import contextlib
import inspect
import os
import socket
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx

from . import errors
from .calls import Call
from .token import KeyFile

Token = str | Callable[[], str] | Callable[[str], str]
DIAL = 3.0
"""How long the making of a connection may take, in seconds: a machine that is off says nothing."""
QUIET = 5.0
"""How long a request waits, as those do that wait for jobs, until its node is asked whether it lives, in seconds."""
PATIENCE = 10.0
"""How long a node may take to say so, in seconds: one with much to do may."""
FAILED = 30.0
"""For how long a node that has failed is none that is asked instead of one that wants to be left alone, in seconds."""


class Node:
    """One of the nodes of a place."""

    def __init__(self, address: str, token: Token | None, key_file: str | Path | None, name: str | None) -> None:
        url, _, behind = address.partition("#")
        name = name or behind
        self.socket: str | None = None
        self._proof: Callable[[], str]
        if url.startswith("unix:"):
            self.socket = url.removeprefix("unix:").removeprefix("//")
            cookie = Path(self.socket).with_name("cookie")
            self._proof = lambda: "Ramet-Cookie " + cookie.read_text(encoding="utf-8").strip()
            url = "http://localhost"
        parsed = httpx.URL(url)
        if parsed.scheme not in ("http", "https") or not parsed.host or parsed.query or parsed.userinfo:
            shown = f"one with a password, at {parsed.host}" if parsed.userinfo else url
            msg = f"url: want an address such as http://localhost:7480 or unix:/run/ramet/ramet.sock, got {shown!r}"
            raise ValueError(msg)
        self.url = url.rstrip("/")
        self.failed = -FAILED
        """When it was left last, by time.monotonic, unless it has answered since."""
        # Where no network lies between, packing an answer costs more than it saves.
        near = self.socket is not None or parsed.host in ("localhost", "127.0.0.1", "::1")
        self._always = {"Accept-Encoding": "identity"} if near else {}
        if token is not None:
            self._proof = _bearer(token, name)
        elif key_file is not None:
            self._proof = _bearer(KeyFile(key_file, name), name)
        elif self.socket is None:
            msg = "say who asks: token=… or $RAMET_TOKEN, or key_file=… or $RAMET_KEY with node=…"
            raise ValueError(msg)
        self.asked: dict[object, float] = {}
        """Since when requests wait for its answers, by time.monotonic."""
        self.cut_at = -1.0
        self._lived = -QUIET
        self._streams: weakref.WeakSet[Any] = weakref.WeakSet()

    def headers(self, call: Call[Any]) -> dict[str, str]:
        """Give all headers of a request."""
        return {"Authorization": self._proof(), **self._always, **call.headers}

    def lives(self, http: httpx.Client) -> bool:
        """Ask it whether it lives; whatever it answers, it does."""
        if time.monotonic() - self._lived < QUIET:
            return True
        try:
            http.get(self.url + "/health", timeout=httpx.Timeout(PATIENCE, connect=DIAL))
        except httpx.HTTPError:
            return False
        self._lived = time.monotonic()
        return True

    def traced(self, event: str, info: Mapping[str, Any]) -> None:
        """Keep the connections that are made for requests: those of a node that hangs are cut."""
        if event in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            self._streams.add(info["return_value"])

    async def atraced(self, event: str, info: Mapping[str, Any]) -> None:
        """Do what traced does, for asyncio."""
        self.traced(event, info)

    def forget(self) -> None:
        """Know of no requests and connections."""
        self.asked = {}
        self._streams = weakref.WeakSet()

    def cut(self) -> None:
        """End all requests that wait for it, from any thread."""
        self.cut_at = time.monotonic()
        for stream in list(self._streams):
            with contextlib.suppress(OSError):  # it is closed by now
                number = stream.get_extra_info("socket").fileno()
                with socket.fromfd(number, socket.AF_INET, socket.SOCK_STREAM) as s:
                    s.shutdown(socket.SHUT_RDWR)


class Place:
    """Where a node is, or several nodes of one board, and how one proves oneself there.

    All requests go to one node. Where that gives no answer, breaks one off or says that it has no time (502, 503,
    504), those that follow go to the next in turn. A node that takes requests and does nothing any more is found out
    while one waits: it does not answer GET /health, and what waits for it ends.
    """

    def __init__(
        self,
        url: str | Sequence[str] | None = None,
        *,
        token: Token | None = None,
        key_file: str | Path | None = None,
        node: str | None = None,
    ) -> None:
        addresses = _addresses(url or os.environ.get("RAMET_NODE") or "http://127.0.0.1:7480")
        if token is None and key_file is None:
            token, key_file = os.environ.get("RAMET_TOKEN"), os.environ.get("RAMET_KEY")
        if len(addresses) > 1 and node:
            msg = "node: of several nodes the names stand behind the # of their addresses"
            raise ValueError(msg)
        self.nodes = [Node(address, token, key_file, node) for address in addresses]
        self.several = len(self.nodes) > 1
        self.socket = self.nodes[0].socket
        if self.several and any(n.socket for n in self.nodes):
            msg = "url: a socket is a node of its own; several nodes are reached by http:// or https://"
            raise ValueError(msg)
        self._process = os.getpid()
        self._moves = 0  # from one node to the next
        self._lock = threading.Lock()
        self._watcher: threading.Thread | None = None

    def timeout(self, seconds: float) -> float | httpx.Timeout:
        """Bound a request whose answer may take so long."""
        return httpx.Timeout(seconds, connect=min(seconds, DIAL)) if self.several else seconds

    @contextlib.contextmanager
    def turn(self) -> Iterator[Node]:
        """Give the node that a request goes to, and see what becomes of it.

        Raises Unreachable where there is no answer.
        """
        if self._process != os.getpid():
            self._begin_anew()
        moves = self._moves
        node, mark, asked = self.nodes[moves % len(self.nodes)], object(), time.monotonic()
        if self.several:
            node.asked[mark] = asked
            self._watch()
        try:
            yield node
        except httpx.HTTPError as err:
            self._leave(node, moves)
            why = str(err) or type(err).__name__
            if node.cut_at > asked:
                why = f"it takes requests, and has not answered GET /health for {PATIENCE:.0f} s"
            raise errors.Unreachable(f"{node.socket or node.url}: {why}") from err
        except errors.ApiError as err:
            if isinstance(err, errors.Unavailable) or err.status in (502, 503, 504):
                self._leave(node, moves)
                if self._another(node):
                    err.retry_after = 0.0  # which is this node's, and the next one is asked
            else:
                node.failed = -FAILED
            raise
        else:
            node.failed = -FAILED
        finally:
            node.asked.pop(mark, None)

    def _begin_anew(self) -> None:
        """Forget the requests and connections of the process that this one was forked off: it cuts none of them."""
        self._lock, self._watcher = threading.Lock(), None
        for node in self.nodes:
            node.forget()
        self._process = os.getpid()

    def _leave(self, node: Node, moves: int) -> None:
        """Have later requests go to the next node, unless somebody else has seen to that."""
        node.failed = time.monotonic()
        with self._lock:
            if self._moves == moves:
                self._moves += 1

    def _another(self, than: Node) -> bool:
        """Say whether there is a node beside this one that has not failed just now."""
        now = time.monotonic()
        return any(n is not than and now - n.failed >= FAILED for n in self.nodes)

    def _watch(self) -> None:
        """Have a thread look after the requests that wait, until there are none."""
        if self._watcher is not None and self._watcher.is_alive():
            return
        with self._lock:
            if self._watcher is None or not self._watcher.is_alive():
                self._watcher = threading.Thread(target=self._look_after, name="ramet-watch", daemon=True)
                self._watcher.start()

    def _look_after(self) -> None:
        with httpx.Client() as http:
            while True:
                time.sleep(QUIET / 5)
                with self._lock:
                    if not any(n.asked for n in self.nodes):
                        self._watcher = None
                        return
                for node in self.nodes:
                    long_ago = time.monotonic() - QUIET
                    if any(since < long_ago for since in list(node.asked.values())) and not node.lives(http):
                        node.cut()


def _addresses(url: str | Sequence[str]) -> list[str]:
    """Give the addresses of a list, and of texts that have commas between them; the path of a socket may have some."""
    texts = [url] if isinstance(url, str) else url
    split = ([text] if text.startswith("unix:") else text.split(",") for text in texts)
    return [address.strip() for text in split for address in text]


def _bearer(token: Token, node: str) -> Callable[[], str]:
    """Give what a token is sent as: a function that takes an argument is told the node's name."""
    if isinstance(token, str):
        return lambda: "Bearer " + token
    give: Callable[..., str] = token
    try:
        wanted = [p for p in inspect.signature(token).parameters.values() if p.default is p.empty]
    except ValueError:  # it is not written in Python
        wanted = []
    takes_name = any(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in wanted)
    return lambda: "Bearer " + (give(node) if takes_name else give())
