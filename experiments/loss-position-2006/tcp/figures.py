"""Figures 5 to 9 and 17 to 19."""

from collections.abc import Mapping

from anabranch_lab.judge.experiment import Figure as Entry

from ..common import pictures
from ..common.flows import Row, Table
from ..common.pictures import Record

TITLES = {
    "baseline": ("figure-5", "Fig. 5: experimental baseline (FreeBSD 6.0)"),
    "inflight": ("figure-6", "Fig. 6: inflight bandwidth limiting enabled"),
    "no limited transmit": ("figure-7", "Fig. 7: limited transmit disabled"),
    "minimum RTO 1 s": ("figure-8", "Fig. 8: minimum RTO of 1 s"),
    "initial window 1": ("figure-9", "Fig. 9: larger initial windows disabled"),
}


def all_figures(runs: Table, records: Mapping[str, Record]) -> list[Entry]:
    """Every figure, in the order of the report."""
    entries = []
    for case, (name, title) in TITLES.items():

        def rows(display: str, case: str = case) -> Mapping[str, Row]:
            lines = {
                "as it was": runs.at(stack="as it was", case=case, display=display),
                "without its mistakes": runs.at(stack="without mistakes", case=case, display=display),
            }
            if case != "baseline":
                lines["baseline, as it was"] = runs.at(stack="as it was", case="baseline", display=display)
            return lines

        entries.append(pictures.by_position(name, title, rows))
    plain, twelfth, eighth = (records[f"low, {lost} lost"] for lost in ("none", "12", "8"))
    entries += [
        pictures.sequence(
            "figure-17",
            "Fig. 17: effects of the opportunistic RTO (server side)",
            lambda: plain,
            caption="Nothing is lost.",
        ),
        pictures.sequence(
            "figure-18",
            "Fig. 18: effects of the opportunistic RTO (client side)",
            lambda: plain,
            client=True,
            caption="The same flow.",
        ),
        pictures.sequence(
            "figure-19",
            "Fig. 19: error recovery of FreeBSD 6.0 (server side)",
            lambda: twelfth,
            caption="The twelfth packet is lost.",
        ),
        pictures.sequence(
            "figure-19-eighth",
            "Fig. 19: error recovery of FreeBSD 6.0, where it fails here",
            lambda: eighth,
            caption="The eighth packet is lost: the first segment behind those that were sent twice. The report has its peaks at 12 and 17.",
        ),
    ]
    return entries
