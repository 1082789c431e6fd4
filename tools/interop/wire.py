"""Reading of captures with tshark."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

DATA, INIT, INIT_ACK, SACK, HEARTBEAT, HEARTBEAT_ACK, ABORT, SHUTDOWN = 0, 1, 2, 3, 4, 5, 6, 7
ERROR, COOKIE_ECHO, COOKIE_ACK, SHUTDOWN_COMPLETE, I_DATA = 9, 10, 11, 14, 64
RE_CONFIG, PAD, FORWARD_TSN, I_FORWARD_TSN = 130, 132, 192, 194
ZERO_CHECKSUM, SUBFLOWS = 0x8001, 0xB05F
"""Parameters of INIT: Zero Checksum Acceptable (RFC 9653), and the offer of subflows (docs/explanation/subflows.md)."""
SUBFLOW_CHUNKS = frozenset({0x5F, 0x9F, 0xDF})
"""Types of chunks that only subflows need: SF-DATA, SF-SACK, SF-FORWARD."""

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
    "sctp.data_tsn_raw",
    "sctp.data_b_bit",
    "sctp.data_e_bit",
    "sctp.data_u_bit",
    "sctp.data_fsn",
    "sctp.sack_cumulative_tsn_ack_raw",
    "sctp.forward_tsn_tsn",
    "sctp.shutdown_cumulative_tsn_ack",
    "sctp.shutdown_complete_t_bit",
    "sctp.supported_chunk_type",
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
    """The relay's treatment of it, unless it passed it on."""
    tsns: tuple[int, ...] = ()
    """The TSNs of its DATA and I-DATA chunks."""
    begins: tuple[int, ...] = ()
    """1 for each of them that begins a message."""
    ends: tuple[int, ...] = ()
    """1 for each of them that ends one."""
    unordered: tuple[int, ...] = ()
    """1 for each of them that may overtake others."""
    parts: tuple[int, ...] = ()
    """Fragment Sequence Numbers of its I-DATA chunks that begin no message."""
    acks: tuple[int, ...] = ()
    """Cumulative TSN Acks of its SACK and SHUTDOWN chunks."""
    skips: tuple[int, ...] = ()
    """New Cumulative TSNs of its FORWARD-TSN chunks."""
    tagless: bool = False
    """Whether it has a SHUTDOWN COMPLETE of a peer that no longer knows the association (T bit)."""
    supported: tuple[int, ...] = ()
    """Chunk types that its INIT or INIT ACK lists (RFC 5061, 4.2.7)."""

    @property
    def arrived(self) -> bool:
        """Whether the relay has passed it on undamaged."""
        return not self.fate.startswith(("dropped", "corrupted"))

    @property
    def has_data(self) -> bool:
        """Whether it has user data."""
        return DATA in self.chunks or I_DATA in self.chunks

    @property
    def is_probe(self) -> bool:
        """Whether it probes the MTU of the path: a HEARTBEAT with PAD behind it (RFC 8899, 6.2.1)."""
        return HEARTBEAT in self.chunks and PAD in self.chunks


def _numbers(text: str) -> tuple[int, ...]:
    # Bits are 1 and 0 or True and False, as the version of tshark has it.
    return tuple(
        int(part == "True") if part in ("True", "False") else int(part, 0) for part in text.split(",") if part
    )


def parse(lines: Iterable[str]) -> Iterator[Packet]:
    """Packets from the output of `tshark -T fields`."""
    for line in lines:
        cells = line.rstrip("\n").split("\t")
        if len(cells) != len(_FIELDS) or not cells[4]:
            continue
        number, time, source, length, chunks, checksum, windows, ssns, parameters = cells[:9]
        tsns, begins, ends, unordered, parts, acks, skips, shutdown_acks, tagless, supported, fate = cells[9:]
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
            tsns=_numbers(tsns),
            begins=_numbers(begins),
            ends=_numbers(ends),
            unordered=_numbers(unordered),
            parts=_numbers(parts),
            acks=_numbers(acks) + _numbers(shutdown_acks),
            skips=_numbers(skips),
            tagless=any(_numbers(tagless)),
            supported=_numbers(supported),
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


def behind(one: int, other: int) -> bool:
    """Whether a TSN comes after another (RFC 1982)."""
    return 0 < (one - other) % (1 << 32) < 1 << 31
