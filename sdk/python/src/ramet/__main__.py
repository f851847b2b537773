"""The command line: python -m ramet worker module:app."""

from __future__ import annotations

import argparse
import importlib
import logging
import sys
from pathlib import Path

from . import __version__
from .app import App
from .errors import RametError


def load(name: str) -> App:
    """Import an app by its name, module:app."""
    module, _, attribute = name.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    app = getattr(importlib.import_module(module), attribute or "app", None)
    if not isinstance(app, App):
        msg = f"{module} has no App named {attribute or 'app'}"
        raise RametError(msg)
    return app


def label(text: str) -> tuple[str, str]:
    """Read a label."""
    name, equals, value = text.partition("=")
    if not (name and equals):
        msg = f"{text!r}: want name=value"
        raise argparse.ArgumentTypeError(msg)
    return name, value


def main(argv: list[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m ramet", description="Your own functions as jobs of a Ramet node.")
    parser.add_argument("--version", action="version", version=__version__)
    worker = parser.add_subparsers(required=True, metavar="COMMAND").add_parser(
        "worker", help="take the jobs of an app's functions and run them, until SIGTERM or Ctrl-C"
    )
    add = worker.add_argument
    add("app", metavar="MODULE:APP", help="the app, as in tasks:app; the module is looked for in this folder too")
    add("--concurrency", type=int, default=64, help="how many jobs run at once (default: 64)")
    add("--lease", type=float, default=30, help="seconds a job stays with a worker that died (default: 30)")
    add(
        "--grace",
        type=float,
        default=30,
        help="seconds functions have at the end, and one lease more where they do not listen (default: 30)",
    )
    add("--label", type=label, action="append", default=[], metavar="NAME=VALUE", help="may be repeated")
    add("--app-version", default="", help="what the list of runners shows")
    add("--log-level", default="info", choices=["debug", "info", "warning", "error"])
    args = parser.parse_args(argv)
    logging.basicConfig(level=args.log_level.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("httpx").setLevel(max(logging.WARNING, logging.getLogger().level))
    logging.getLogger("httpcore").setLevel(max(logging.WARNING, logging.getLogger().level))
    try:
        load(args.app).run(
            concurrency=args.concurrency,
            lease=args.lease,
            grace=args.grace,
            labels=dict(args.label),
            version=args.app_version,
        )
    except (RametError, ImportError, ValueError) as err:
        sys.stderr.write(f"ramet: {err}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
