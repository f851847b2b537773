"""How many jobs a second one process runs: python bench.py [--jobs N] [--sync] with $RAMET_NODE and $RAMET_KEY set.

The jobs stand in their queue before the worker starts, so that only claiming, running and finishing is measured.
"""

from __future__ import annotations

import argparse
import asyncio
import time

import ramet

BATCH = 1000


async def main() -> None:
    """Submit, run, and print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--context", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=30_000)
    parser.add_argument("--concurrency", type=int, default=1024)
    parser.add_argument("--sync", action="store_true", help="a function without async, in threads")
    args = parser.parse_args()
    app = ramet.App(context=args.context)
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

    for at in range(0, args.jobs, BATCH):
        for answer in await app.asubmit_many([noop.job()] * min(BATCH, args.jobs - at)):
            if isinstance(answer, Exception):
                raise answer
    worker = app.worker(concurrency=args.concurrency)
    cpu = time.process_time()
    await worker.run()
    spent = time.perf_counter() - begun
    busy = (time.process_time() - cpu) / spent
    print(f"{done} jobs in {spent:.2f} s: {done / spent:.0f} a second, {busy:.2f} processors of its own")
    await app.aclose()


if __name__ == "__main__":
    asyncio.run(main())
