"""Records scenarios of ns-2's own SCTP test suite as lists of events, for `ns2_suite.rs` to compare with.

Nothing runs this by itself: the lists are in this folder. It needs ns-2.35 (Debian's package ns2, command `ns`) and
`tcl/test/test-suite-sctp.tcl` of ns-2's source.

    python3 record.py test-suite-sctp.tcl NAME...

Of each scenario it writes NAME.events: one line for a moment and a kind of event, `time kind what`:

- `send` and `again`: packets with user data that the sender handed to its link, for the first time and once more, in
  order; chunks of one packet are joined by `+`; `!` stands behind a packet that the error model took.
- `fast`: a SACK marked chunks for fast retransmit. `timeout`: T3-rtx expired, and the RTO after that.
- `cwnd`: the congestion window. ns-2 tells the time of its variables in steps of 10 us.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent


def variables(text):
    """What the traced variables of the sender say: (time, kind, value)."""
    before = {}
    # ns-2 writes the lines from a buffer that it does not clear: rubbish may stand before `time:`.
    for line in re.findall(r"time: [^\n]*", text):
        words = line.split()
        values = dict(zip(words[::2], words[1::2], strict=False))
        time = float(values["time:"])
        if "rto:" in values:
            # The RTO doubles, and no round trip was measured: the timer expired. ns-2's own count leaves out the expiry that
            # ends an association.
            doubled = min(2 * float(before.get("rto:", 0)), 60) - float(values["rto:"])
            if abs(doubled) < 0.002 and all(values[name] == before[name] for name in ("srtt:", "rttvar:")):
                yield time, "timeout", values["rto:"]
            before = values
        elif "frCount:" in values:
            yield time, "fast", ""
        elif "cwnd:" in values:
            yield time, "cwnd", values["cwnd:"]


def packets(text):
    """Packets with user data that node 0 sent: (time, kind, chunks); behind one that the error model took stands `!`."""
    sent = {}
    for line in text.splitlines():
        sign, time, source, _, _, _, flags, _, _, _, _, tsn, number, *_ = line.split()
        if source != "0" or flags[-1] != "D" or sign not in "+d":
            continue
        if number in sent and tsn in sent[number][1]:
            raise SystemExit(f"packet {number} was dropped by a queue")
        sent.setdefault(number, (float(time), [], sign == "d"))[1].append(tsn)
    seen = set()
    for time, tsns, lost in sent.values():
        yield time, "again" if seen.intersection(tsns) else "send", "+".join(tsns) + "!" * lost
        seen.update(tsns)


RANK = {"timeout": 0, "fast": 1, "cwnd": 2, "send": 3, "again": 3}


def events(trace, traced):
    """The lines of a file: in the order of time, and at one moment first what made the packets leave."""
    sent = list(packets(trace))
    # T1-init of the handshake is not compared.
    found = [event for event in variables(traced) if event[1] != "timeout" or event[0] >= sent[0][0]] + sent
    found.sort(key=lambda event: (round(event[0], 5), RANK[event[1]]))
    line = []
    for time, kind, what in found:
        time = f"{time:.6f}"
        if line[:2] == [time, kind] and RANK[kind] == 3:
            line.append(what)
            continue
        if line:
            yield " ".join(line).rstrip()
        line = [time, kind, what]
    yield " ".join(line).rstrip()


def main(suite, names):
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["ns", str(HERE / "record.tcl"), str(Path(suite).resolve()), name], cwd=folder, check=True)
            trace = (Path(folder) / "temp.rands").read_text()
            traced = (Path(folder) / "trace.vars").read_bytes().decode(errors="replace")
        lines = [f"# {name} of ns-2.35's tcl/test/test-suite-sctp.tcl; see record.py", *events(trace, traced)]
        (HERE / f"{name.removeprefix('sctp-')}.events").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
