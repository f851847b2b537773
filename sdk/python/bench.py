"""How many jobs a second one process runs: python bench.py [--ramet FILE] [--jobs N] [--sync].

Without --ramet, the program of a node to start, $RAMET_NODE and $RAMET_KEY say which one. The jobs stand in their queue
before the worker starts, so that only claiming, running and finishing is measured. It prints one line of JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ramet

BATCH = 1000


@contextlib.contextmanager
def a_node(program: str) -> Iterator[dict[str, Any]]:
    """Start a node on a folder of its own, and say where it is."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="ramet-bench-") as data:
        command = [program, "serve", "--data", data, "--listen", f"127.0.0.1:{port}", "--name", "bench"]
        node = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        try:
            assert node.stderr is not None
            if not any("node started" in line for line in node.stderr):
                raise SystemExit("the node does not start")
            yield {"url": f"http://127.0.0.1:{port}#bench", "key_file": Path(data) / "operator.key"}
        finally:
            node.kill()
            node.wait()


async def main() -> None:
    """Submit, run, and print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ramet", help="the program of a node to start")
    parser.add_argument("--context", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=30_000)
    parser.add_argument("--concurrency", type=int, default=1024)
    parser.add_argument("--sync", action="store_true", help="a function without async, in threads")
    args = parser.parse_args()
    place: contextlib.AbstractContextManager[dict[str, Any]] = contextlib.nullcontext({})
    if args.ramet:
        place = a_node(args.ramet)
    with place as where:
        await measure(args, ramet.App(context=args.context, **where))


async def measure(args: argparse.Namespace, app: ramet.App) -> None:
    """Measure one app."""
    done, begun = 0, 0.0
    worker: ramet.Worker  # made when the functions are known

    def count() -> None:
        nonlocal done, begun
        done += 1
        if done == 1:
            begun = time.perf_counter()
        if done == args.jobs:
            worker.stop()

    if args.sync:

        @app.job("bench-py")
        def noop() -> None:
            count()
    else:

        @app.job("bench-py")
        async def noop() -> None:
            count()

    before = time.perf_counter()
    for at in range(0, args.jobs, BATCH):
        for answer in await app.asubmit_many([noop.job()] * min(BATCH, args.jobs - at)):
            if isinstance(answer, Exception):
                raise answer
    submitted = time.perf_counter() - before
    worker = app.worker(concurrency=args.concurrency)
    cpu = time.process_time()
    await worker.run()
    spent, cpu = time.perf_counter() - begun, time.process_time() - cpu
    found = {
        "jobs": done,
        "submit_per_s": round(done / submitted),
        "jobs_per_s": round(done / spent),
        "worker_cpu_us": round(cpu / done * 1e6),
    }
    print(json.dumps(found))
    await app.aclose()


if __name__ == "__main__":
    asyncio.run(main())
