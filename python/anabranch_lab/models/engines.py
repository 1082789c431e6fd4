"""The rules of an engine, in the words of the renewal model: read off its options, so that no engine needs a table of its own."""

from collections.abc import Mapping
from dataclasses import dataclass

from anabranch.running import options as options_of
from anabranch.running import profiles
from anabranch.units import nanoseconds

GROWTHS = ("staircase", "linear")


@dataclass(frozen=True)
class Rules:
    """A sender's rules for losses, as far as throughput depends on them."""

    reports: int = 4
    """Missing reports that make a fast retransmit."""
    floor: float = 2.0
    """Least ssthresh after a loss, MTU."""
    recovery_point: bool = False
    """Whether further losses of the same window leave cwnd alone."""
    boost: float = 1.0
    """MTU that the slow start after a fast retransmit adds."""
    growth: str = "staircase"
    """`staircase`: +1 MTU every Phi round trips; `linear`: +1/Phi MTU every round trip."""
    rto_min: float = 1.0
    """Shortest retransmission timeout, s."""
    rto_max: float = 60.0
    """Longest retransmission timeout, s."""
    timeouts: bool = True
    """Whether timeouts happen; without them the model is that of fast retransmits alone, as the study's is."""
    sack_every: int = 1
    """Packets for each SACK. Growth counts bytes, so this only slows the slow start after a timeout."""

    def __post_init__(self) -> None:
        """Refuses values that no sender can have."""
        if self.growth not in GROWTHS:
            raise ValueError(f"growth `{self.growth}`; there are {', '.join(GROWTHS)}")
        for name in ("reports", "floor", "sack_every", "rto_min"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} {getattr(self, name)}: more than 0 is needed")
        if self.boost < 0:
            raise ValueError(f"boost {self.boost}: 0 or more is needed")
        if self.rto_max < self.rto_min:
            raise ValueError(f"rto_max {self.rto_max} s is less than rto_min {self.rto_min} s")


RECOVERY_POINT = ("until-exit", "per-window")
"""Values of `fast_recovery` with which further losses of a window leave cwnd alone."""
KNOWN = {
    "congestion_control": "reno",
    "loss_detection": "missing-reports",
    "tail_loss_probe": "false",
    "pacing": "false",
    "early_fast_retransmit": "off",
}
"""Options that the model has no other word for."""
BLAMELESS = ("quirk_fsn_from_second", "quirk_cookie_ack_optional", "quirk_handshake_rto", "quirk_t3_runs_on")
"""Quirks that leave a long transfer as it is, or nearly so."""


def of_options(options: Mapping[str, str]) -> Rules:
    """The rules that options stand for. Raises ValueError with the option that the model cannot follow."""
    for key, value in KNOWN.items():
        if options.get(key, value) != value:
            raise ValueError(f"the model does not know {key} = {options[key]}")
    for key, value in options.items():
        if key.startswith("quirk_") and key not in BLAMELESS and value == "true":
            raise ValueError(f"the model does not know {key}")
    return Rules(
        reports=int(options["fast_retransmit_threshold"]),
        floor=float(options["ssthresh_floor"]),
        recovery_point=options["fast_recovery"] in RECOVERY_POINT,
        rto_min=nanoseconds(options["rto_min"]) / 1e9,
        rto_max=nanoseconds(options["rto_max"]) / 1e9,
        # A SACK that does not wait comes for every packet.
        sack_every=int(options["sack_every"]) if nanoseconds(options["sack_delay"]) else 1,
    )


def rules(engine: str | Rules, changes: Mapping[str, str] | None = None) -> Rules:
    """The rules of an engine by its name, with options set over it; of rules, themselves."""
    if isinstance(engine, Rules):
        return engine
    if engine not in profiles():
        raise ValueError(f"no engine `{engine}`; the models know {', '.join(known())}")
    try:
        return of_options({**options_of(engine), **(changes or {})})
    except ValueError as error:
        raise ValueError(f"engine `{engine}`: {error}; the models know {', '.join(known())}") from None


def known() -> list[str]:
    """Every engine that the model can follow."""
    found = []
    for name in profiles():
        try:
            of_options(options_of(name))
        except ValueError:
            continue
        found.append(name)
    return found
