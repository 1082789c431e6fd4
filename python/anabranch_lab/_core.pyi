"""The simulator, compiled from crates/py."""

from collections.abc import Sequence
from typing import final

__version__: str

@final
class Outcome:
    """What came of a run."""

    @property
    def summary(self) -> str:
        """The summary as JSON, as `anabranch simulate --json` prints it for one seed."""

    @property
    def columns(self) -> list[tuple[str, str, int, bytes, bytes | None, list[str] | None]]:
        """The trace, column by column: name, type, length, bytes, validity bits or None, names or None."""

    @property
    def pcapng(self) -> bytes | None:
        """The capture as a pcapng file, if the scenario records one."""

def simulate(
    scenario: str,
    seed: int,
    *,
    overrides: Sequence[tuple[str, str]] = ...,
    trace: bool = False,
    pcap: bool = False,
    origin: str = "scenario",
) -> Outcome:
    """Run a scenario, the text of a TOML file, with one seed."""

def check(scenario: str, *, overrides: Sequence[tuple[str, str]] = ..., origin: str = "scenario") -> None:
    """Check a scenario without running it."""
