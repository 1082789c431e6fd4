"""`anabranch-lab serve`, and the file that says how far a sweep is."""

import json
import os
import subprocess
import sys
import threading
import urllib.error
import urllib.request

import pytest
from rich.console import Console

from anabranch_lab import cli
from anabranch_lab.run import progress
from anabranch_lab.show import serve


@pytest.fixture
def out(tmp_path):
    (tmp_path / "report" / "figures").mkdir(parents=True)
    (tmp_path / "report" / "index.html").write_text('<main id="content">the report</main>')
    (tmp_path / "report" / "figures" / "x.csv").write_text("a,b\n")
    return tmp_path


@pytest.fixture
def get(out):
    with serve.server(out, 0) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield lambda path: urllib.request.urlopen(f"http://127.0.0.1:{running.server_port}{path}", timeout=30)
        running.shutdown()
        thread.join()


def state(get):
    return json.loads(get("/progress.json").read())


def test_pages_and_files_of_the_report(get):
    page = get("/").read().decode()
    assert "the report" in page
    assert 'id="progress"' in page
    assert get("/figures/x.csv").read() == b"a,b\n"
    with pytest.raises(urllib.error.HTTPError, match="404"):
        get("/no-such.html")
    with pytest.raises(urllib.error.HTTPError, match="404"):
        get("/../progress.json.secret")


def test_without_a_report_it_waits(out, get):
    (out / "report" / "index.html").unlink()
    page = get("/").read().decode()
    assert "There is no report yet" in page
    assert 'id="progress"' in page


def test_the_progress_of_a_sweep(out, get):
    assert state(get) == {"state": "none"}
    with progress.Recorded("mine", Console(quiet=True), 2, out / progress.PROGRESS) as bar:
        bar.begin(10, 4, 60.0)
        now = state(get)
        assert (now["title"], now["state"], now["done"], now["runs"]) == ("mine", "running", 4, 10)
        assert now["seconds_left"] == 30.0
        bar.OFTEN = 0.0
        bar.step("sweep", 10.0)
        assert state(get)["done"] == 5
    assert state(get)["state"] == "done"


def test_a_sweep_that_fails_or_is_killed_has_stopped(out, get):
    def interrupted():
        with progress.Recorded("mine", Console(quiet=True), 2, out / progress.PROGRESS) as bar:
            bar.begin(10, 4, 60.0)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert state(get)["state"] == "stopped"
    told = json.loads((out / progress.PROGRESS).read_text())
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    (out / progress.PROGRESS).write_text(json.dumps({**told, "state": "running", "process": gone.pid}))
    assert state(get)["state"] == "stopped"
    (out / progress.PROGRESS).write_text(json.dumps({**told, "state": "running", "process": os.getpid()}))
    assert state(get)["state"] == "running"


def test_wrong_commands(tmp_path, capsys):
    assert cli.main(["serve", str(tmp_path / "nowhere")]) == 2
    assert "there is no such folder" in capsys.readouterr().err
    assert cli.main(["serve", str(tmp_path), "--port", "99999"]) == 2
    assert "0 to 65535" in capsys.readouterr().err


def test_the_command_says_where(out):
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "anabranch_lab.cli", "serve", str(out), "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        line = process.stdout.readline()
        address = line.split()[0]
        assert "the report" in urllib.request.urlopen(address, timeout=30).read().decode()
    finally:
        process.terminate()
        process.wait(30)
        process.stdout.close()
    # SIGTERM is an orderly end, as Ctrl-C is.
    assert process.returncode == 0
