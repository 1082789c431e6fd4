"""`anabranch-lab model`."""

import json

import pytest

from anabranch_lab import cli
from anabranch_lab.models import audit, network, quantity

LOSSY = ["model", "--subflows", "2", "--loss", "1e-3,1e-5", "--rtt", "500 ms"]
NARROW = [
    "model",
    "--subflows",
    "4",
    "--rate",
    "10 Mbit/s",
    "--queue",
    "100",
    "--delay",
    "50 ms",
    "--packet",
    "1000 B",
]


def test_a_table(capsys):
    assert cli.main(LOSSY) == 0
    out = capsys.readouterr().out
    for word in (*network.CASES, network.STUDY, network.RENEWAL, "0.930", "10.225"):
        assert word in out


def test_json(capsys):
    assert cli.main([*NARROW, "--json"]) == 0
    found = {entry["case"]: entry for entry in json.loads(capsys.readouterr().out)}
    assert set(found) == set(network.CASES)
    assert found["without FCC"]["low_bps"] == pytest.approx(9.959e6, rel=1e-4)
    assert found["with FCC"]["loss_high"] == pytest.approx(7.9e-5, rel=1e-2)


@pytest.mark.parametrize("name", ["figure.png", "deep/figure.svg"])
def test_a_plot(tmp_path, name, capsys):
    assert cli.main([*LOSSY, "--plot", str(tmp_path / name)]) == 0
    first = (tmp_path / name).read_bytes()
    assert first[:4] in (b"\x89PNG", b"<?xm")
    assert cli.main([*LOSSY, "--plot", str(tmp_path / name)]) == 0
    assert (tmp_path / name).read_bytes() == first
    assert "loss" in capsys.readouterr().out


def test_a_plot_of_a_bottleneck(tmp_path):
    assert cli.main([*NARROW, "--over", "queue", "--plot", str(tmp_path / "q.png")]) == 0
    assert (tmp_path / "q.png").stat().st_size > 10_000


def test_the_audit(capsys):
    assert cli.main(["model", "--audit"]) == 0
    out = capsys.readouterr().out
    assert "4.12" in out
    assert "1 wrong" in out
    assert cli.main(["model", "--audit", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert len(record["equations"]) == len(audit.ROWS) == 55
    assert [row["equation"] for row in record["equations"] if row["verdict"] == audit.WRONG] == ["4.12"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rtt", "5"], "`5` is not a time"),
        (["--rtt", "1 s", "--delay", "1 s"], "give one of them"),
        (["--rtt", "1 s"], "nothing limits"),
        (["--rtt", "1 s", "--loss", "x"], "--loss `x`"),
        (["--rtt", "1 s", "--loss", "1e-3", "--phi", "0.5"], "phi `0.5`"),
        (["--rtt", "1 s", "--loss", "1e-3", "--plot", "a.pdf"], ".png or .svg"),
        (["--rtt", "1 s", "--rate", "10 Mbit"], "not a rate"),
        (["--rtt", "1 s", "--rate", "10 Mbit/s"], "--queue"),
        (["--rtt", "1 s,2 s", "--loss", "1e-3", "--over", "subflows", "--plot", "a.png"], "one rtt holds"),
    ],
)
def test_one_clear_sentence(arguments, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["model", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_quantities():
    assert quantity.seconds("48 ms") == pytest.approx(0.048)
    assert quantity.bytes_per_second("10 Mbit/s") == 1.25e6
    assert quantity.size("1500 B") == 1500
    with pytest.raises(ValueError, match="more than 0"):
        quantity.seconds("0 s")
