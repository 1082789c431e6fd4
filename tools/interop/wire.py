"""What a capture says, read with tshark."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

DATA, INIT, INIT_ACK, SACK, ABORT, SHUTDOWN = 0, 1, 2, 3, 6, 7
COOKIE_ECHO, SHUTDOWN_COMPLETE, I_DATA, RE_CONFIG, FORWARD_TSN, I_FORWARD_TSN = 10, 14, 64, 130, 192, 194

_FIELDS = [
    "frame.number",
    "frame.time_relative",
    "ip.src",
    "udp.length",
    "sctp.chunk_type",
    "sctp.checksum",
    "sctp.sack_a_rwnd",
    "sctp.data_ssn",
    "sctp.parameter_type",
    "frame.comment",
]
CONNECTING = "10.0.0.1"


@dataclass(frozen=True)
class Packet:
    """One packet of a capture."""

    number: int
    time: float
    """Seconds since the first packet."""
    connecting: bool
    """Whether the side that connects has sent it."""
    length: int
    """Bytes of the SCTP packet."""
    chunks: tuple[int, ...]
    checksum: int
    windows: tuple[int, ...]
    """a_rwnd of its SACKs."""
    ssns: tuple[int, ...]
    parameters: tuple[int, ...]
    """Types of the parameters of its INIT, INIT ACK and RE-CONFIG chunks."""
    fate: str
    """What the relay did to it, unless it passed it on."""

    @property
    def arrived(self) -> bool:
        """Whether the relay has passed it on undamaged."""
        return not self.fate.startswith(("dropped", "corrupted"))


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part, 0) for part in text.split(",") if part)


def parse(lines: Iterable[str]) -> Iterator[Packet]:
    """Packets of what `tshark -T fields` prints."""
    for line in lines:
        cells = line.rstrip("\n").split("\t")
        if len(cells) != len(_FIELDS) or not cells[4]:
            continue
        number, time, source, length, chunks, checksum, windows, ssns, parameters, fate = cells
        sums = _numbers(checksum)
        yield Packet(
            number=int(number),
            time=float(time),
            connecting=source == CONNECTING,
            length=int(length) - 8,
            chunks=_numbers(chunks),
            checksum=sums[0] if sums else 0,
            windows=_numbers(windows),
            ssns=_numbers(ssns),
            parameters=_numbers(parameters),
            fate=fate,
        )


def read(capture: Path) -> list[Packet]:
    """Every SCTP packet of a capture."""
    command = ["tshark", "-n", "-r", str(capture), "-d", "udp.port==9899,sctp", "-o", "sctp.reassembly:FALSE"]
    command += ["-T", "fields"]
    for name in _FIELDS:
        command += ["-e", name]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return list(parse(done.stdout.splitlines()))


def count(packets: Iterable[Packet], chunk: int) -> int:
    """Chunks of that type."""
    return sum(packet.chunks.count(chunk) for packet in packets)
