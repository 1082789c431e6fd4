"""Judges of the claims of experiment IV."""

from collections.abc import Mapping

from anabranch_lab.judge.claims import Claim, ClaimBuilder
from anabranch_lab.run.grid import Grid
from anabranch_lab.stats import Estimate


def claims(
    builder: ClaimBuilder,
    runs: Grid,
    chunks: Grid,
    seen: Grid,
    trips: Grid,
    together: Mapping[str, Grid],
    closely: tuple[Grid, Grid],
) -> list[Claim]:
    """The claims of the catalogue that name this experiment."""
    return [
        builder.claim(
            "Z-IV-1",
            used(runs),
            note="95.42 % is 1000 / 1048, a message of 1000 bytes in RFC 9260's chunk; the encoding of chapter 3, which is judged, has four bytes "
            "more, and 1000 / 1052 is 95.06 %.",
            readings={"packets of 1048 bytes": used(chunks)},
        ),
        builder.claim("Z-IV-2", {"log-log slope": runs.curve("drop_rate", over="n").exponent()}),
        builder.claim(
            "Z-IV-3",
            {
                "peak of the window, MTU": seen.at("peak", n=1),
                # Measured round trips, not their smoothed mean, which has no time to come down.
                "round trip when nothing waits, s": trips.at("least", n=1),
                "rate when the steady phase begins, Mbit/s": seen.at("rate", n=1),
            },
        ),
        builder.claim(
            "Z-IV-4",
            {
                f"{state}, n = 1 / n = 4": seen.sample(state, n=1).over(seen.sample(state, n=4))
                for state in ("QBU", "QSD")
            },
            note="Mean lengths of single phases.",
        ),
        synchronous(builder, together, *closely),
    ]


def used(runs: Grid) -> dict[str, Estimate]:
    """Z-IV-1: user data with one subflow and with twelve."""
    curve = runs.curve("user_data", over="n")
    return {"n = 1, %": curve.at(1), "n = 12, %": curve.at(12), "rise, pp": curve.rise(1, 12)}


def synchronous(
    builder: ClaimBuilder, together: Mapping[str, Grid], closely: Grid, closely_red: Grid
) -> Claim:
    """Z-IV-5, for experiments IV to VII."""

    def share(place: str, of: str, among: str) -> Estimate:
        """A ratio of counts over all runs together; falls of one run depend on one another, so the interval is that over runs."""
        part, whole = (closely.sample(name, place=place) for name in (of, among))
        return part.over(whole)

    index, index_red = (together[sweep].sample("index", n=4) for sweep in ("sampled", "sampled-red"))
    # The same measure with RED, whose queue grows again before it is empty by the thesis: it must tell the two apart.
    emptied = closely.sample("emptied", place="IV") / closely.sample("drains", place="IV")
    emptied_red = closely_red.sample("emptied") / closely_red.sample("drains")
    return builder.claim(
        "Z-IV-5",
        {
            **{
                f"{place}: {what}, n = 4": share(place, of, among)
                for place in closely.values("place")
                for what, of, among in (
                    (
                        "falls of the aggregate whose subflows fall to one half or less in sum",
                        "halved",
                        "falls",
                    ),
                    ("draining queues that run empty before they grow", "emptied", "drains"),
                )
            },
            "synchronisation, n = 4: Drop-Tail minus RED": index - index_red,
            "draining queues that run empty, n = 4: Drop-Tail minus RED": emptied - emptied_red,
        },
        note="Synchronisation is the mean correlation of two windows of one association. A fall of the aggregate is that of its "
        "subflows: they are cut a few tenths of a second apart and grow meanwhile. What a cut leaves is read from ssthresh. Falls by a tenth of the "
        "highest aggregate count, and drains by ten packets, as in Z-VIII-3.",
    )
