"""`anabranch-lab serve`: the report in a browser, with the live progress of a sweep that is still running."""

import argparse
import functools
import http.server
import json
from pathlib import Path
from typing import Any

from rich.console import Console

from ..plan import configuration, folders, lookup
from ..run import store
from ..run.progress import PROGRESS
from ..verbs import VERBS
from . import report

HOST = "127.0.0.1"


def add(commands: Any) -> None:
    """The verb and its options."""
    command = commands.add_parser(
        "serve",
        help=VERBS["serve"],
        description="Shows the report of a folder for results at http://127.0.0.1:PORT, to this machine only. Pages say how far a "
        "sweep is that runs meanwhile.",
    )
    command.set_defaults(command=run)
    command.add_argument(
        "out",
        nargs="?",
        type=Path,
        help="folder for results, or of an experiment or a study (default: the one that you stand in, or the checkout)",
    )
    command.add_argument("--port", type=int, default=8000, help="default 8000; 0 takes a free one")


def run(options: argparse.Namespace, console: Console) -> int:
    """Serves until it is interrupted."""
    if not 0 <= options.port < 65536:
        raise ValueError(f"--port {options.port}: 0 to 65535")
    with server(place(options.out), options.port) as running:
        console.print(f"http://{HOST}:{running.server_port}/ (Ctrl-C ends it)", highlight=False)
        try:
            running.serve_forever()
        except KeyboardInterrupt:
            return 0
    return 0


def place(given: Path | None) -> Path:
    """The folder for results that the options name."""
    if given is None or any((given / name).is_file() for name in (folders.PLAN, configuration.STUDY)):
        return lookup.out(given)
    return given


def server(out: Path, port: int) -> http.server.ThreadingHTTPServer:
    """A server that shows a folder for results; it takes no requests yet."""
    if not out.is_dir():
        raise FileNotFoundError(f"{out}: there is no such folder; run an experiment first")
    return http.server.ThreadingHTTPServer((HOST, port), functools.partial(Handler, out=out))


def progress(out: Path) -> dict[str, Any]:
    """The progress of the command that makes runs in this folder; `state` is `none` where there was never one."""
    try:
        told = json.loads((out / PROGRESS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {"state": "none"}
    if told["state"] == "running" and not store.is_running(str(told["process"]), me=True):
        # The command was killed, so its file still says `running`.
        told["state"] = "stopped"
    return told


class Handler(http.server.SimpleHTTPRequestHandler):
    """Pages of the report with a line on top that says how far a sweep is."""

    def __init__(self, *arguments: Any, out: Path, **more: Any):
        self._out = out
        super().__init__(*arguments, directory=str(out / "report"), **more)

    def do_GET(self) -> None:
        """The progress, a page of the report, or a file beside it."""
        path = self.path.partition("?")[0]
        if path == "/progress.json":
            self._send(json.dumps(progress(self._out)), "application/json")
            return
        if path in ("", "/"):
            path = "/index.html"
        file = Path(self.translate_path(path))
        if file.suffix == ".html" and file.is_file():
            self._send(with_progress(file.read_text(encoding="utf-8")), "text/html; charset=utf-8")
        elif path == "/index.html":
            page = report.environment().get_template("waiting.html.j2").render()
            self._send(with_progress(page), "text/html; charset=utf-8")
        else:
            super().do_GET()

    def _send(self, text: str, kind: str) -> None:
        body = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: Any) -> None:
        """Logs no requests: the terminal is for errors."""


def with_progress(page: str) -> str:
    """A page with the line that says how far a sweep is."""
    line = report.environment().get_template("progress.html.j2").render()
    return page.replace('<main id="content">', '<main id="content">\n' + line, 1)
