"""The page of the keys of JSON, which tools/keys.py writes from the code, has every key that the program prints, and no other."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import keys  # noqa: E402

FLOW = '[[flow]]\nname = "{}"\nfrom = "a"\nto = "b"\nprotocol = "{}"\nengine = "{}"\ntraffic = {{ {} }}\n'
EVERYTHING = (
    'duration = "3 s"\nseeds = "1..2"\n[[link]]\nname = "wan"\nfrom = "a"\nto = "b"\nrate = "4 Mbit/s"\ndelay = "20 ms"\nboth = true\n'
    'queue = { kind = "wred", packets = 40, classes = [{ name = "all", min = 10, max = 30 }] }\n'
    + FLOW.format("several", "sctp", "rfc9260", 'kind = "greedy", message = "1000 B"')
    + "count = 2\nsubflows = 2\noptions = { stream_statistics = true }\n"
    + FLOW.format("page", "tcp", "rfc", 'kind = "objects", bytes = "20 kB", message = "1000 B"')
    + FLOW.format(
        "talk", "sctp", "rfc9260", 'kind = "messages", sources = [{ name = "s", message = "100 B", every = "0.1 s" }]'
    )
    + "[record]\nby_flow = true\n"
)  # fmt: skip


@pytest.fixture(scope="module")
def program():
    """The program that was built last."""
    built = [ROOT / "target" / profile / "anabranch" for profile in ("debug", "release")]
    there = [each for each in built if each.exists()]
    if not there:
        pytest.skip("target/debug/anabranch is not built")
    return there[0]


@pytest.fixture(scope="module")
def folder(program, tmp_path_factory):
    """The folder with the results of a scenario that has one of each."""
    place = tmp_path_factory.mktemp("keys")
    (place / "everything.toml").write_text(EVERYTHING)
    capture = ["--pcap", "wan.pcapng", "--seeds", "1"]
    for more in (["--out", "out"], capture):
        subprocess.run(
            [program, "simulate", "everything.toml", *more], cwd=place, check=True, capture_output=True
        )
    return place


@pytest.fixture
def printed(folder):
    """The summary that the program writes."""
    return json.loads((folder / "out" / "summary.json").read_text())


def test_every_key_is_there_and_no_other(printed):
    run = printed["runs"][0]
    flow = run["flows"][0]
    end = flow["association"]["sender"]
    shown = {
        "top": printed,
        "run": run,
        "flow": flow,
        "subflow": flow["subflows"][1],
        "group": run["groups"][0],
        "object": run["objects"][0],
        "source": run["sources"][0],
        "link": run["links"][0],
        "class": run["links"][0]["classes"][0],
        "share": run["links"][0]["flows"][0],
        "association": flow["association"],
        "end": end,
        "negotiated": end["negotiated"],
        "stats": end["stats"],
        "control": end["control"],
        "control chunks": end["control"]["received"],
        "path": end["paths"][0],
        "subflow of a snapshot": end["subflows"][1],
        "stream": end["streams"][0],
    }
    documented = keys.keys()
    captured = {heading for heading, _, _ in keys.CAPTURED}
    # Measures stand among the keys of others.
    assert shown.keys() == documented.keys() - {"measures"} - captured
    for heading, value in shown.items():
        assert value.keys() == documented[heading], heading
    assert documented["measures"] < documented["flow"]


def test_every_key_of_a_capture_is_there_and_no_other(folder, program):
    def decode(*options):
        command = [program, "decode", "wan.pcapng", "--json", *options]
        return json.loads(
            subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout
        )

    capture = decode() | decode("--summary", "--retransmissions", "--buffer", "1 Mbit/s", "--each")
    assert capture.keys() == {"capture", "packets", "flows", "retransmissions", "buffer"}
    flow = next(each for each in capture["flows"] if each["forward"]["rtt"])
    shown = {
        "captured packet": capture["packets"][0],
        "captured flow": flow,
        "direction": flow["forward"],
        "purposes": flow["forward"]["purposes"],
        "round trips": flow["forward"]["rtt"],
        "retransmission": capture["retransmissions"][0],
        "bottleneck": capture["buffer"][0],
        "passage": capture["buffer"][0]["passages"][0],
        "interface": capture["capture"]["interfaces"][0],
    }
    documented = keys.keys()
    for heading, value in shown.items():
        assert value.keys() == documented[heading], heading
    assert documented["occupancy"] < documented["bottleneck"]


def test_every_key_has_a_unit_and_a_meaning():
    for heading, file, name in keys.SECTIONS + keys.CAPTURED:
        for key, unit, meaning in keys.rows(file, name):
            # The names of chunks say all.
            assert unit, f"{heading}: {key}"
            assert meaning or heading == "control chunks", f"{heading}: {key}"
    assert {"failed", "never-started", "application-limited"} < {note for note, _ in keys.notes()}


def test_every_event_says_when_it_comes():
    for _, file, name, _ in keys.EVENTS:
        found = keys.variants(file, name)
        # As many variants as the enumeration has: no line of it begins one that was not found.
        body = (ROOT / file).read_text().split(f"pub enum {name} {{\n", 1)[1].split("\n}\n", 1)[0]
        begun = re.findall(r"^    ([A-Z]\w+)", body, re.MULTILINE)
        assert [variant for variant, _, _ in found] == begun
        assert all(meaning for _, _, meaning in found)
    fields = {variant: names for variant, names, _ in keys.variants(*keys.EVENTS[0][1:3])}
    assert fields["Accepted"] == ["address", "outbound_streams", "inbound_streams"]


def test_links_within_the_page_lead_somewhere():
    page = keys.page()
    anchors = {
        line.removeprefix("## ").replace(" ", "-") for line in page.splitlines() if line.startswith("## ")
    }
    linked = {part.split(")", 1)[0] for part in page.split("](#")[1:]}
    assert linked
    assert linked <= anchors
