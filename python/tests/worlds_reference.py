"""Made-up results of the comparison with ns-2.35 in which every claim holds: the values of ns-2.35."""

import functools
import sys

PACKAGE = "anabranch_experiments_sf_sctp_2007.reference.table"


@functools.cache
def rows():
    """The data of ns-2.35, read once."""
    return sys.modules[PACKAGE].read()


def reference(sweep, measure, at):
    table = sys.modules[PACKAGE]
    name, p = sweep.removesuffix("-associations"), 0.0
    if name == "WAN":
        n, p = (part.rpartition("= ")[2] for part in at["place"].split(", "))
    elif name == "XV":
        n, p = at["n"], 1e-4
    elif name in ("XVI", "XVII", "XVIIIb"):
        n = at["n"]
    else:
        name, n = "XVI", 1
    row = rows()[name, table.FIRST, int(n), float(p)]
    return {
        "goodput": row.goodput.mean,
        "fast": 1e6 * row.fr.mean,
        "lost": 1e6 * float(p),
        "arrivals": 1e6,
        "timeouts": 0.0,
    }[measure]


WORLDS = {"sf-sctp-2007/reference": reference}
