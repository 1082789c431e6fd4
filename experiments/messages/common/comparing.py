"""How the experiments of this study compare two ways of sharing a connection."""

from collections.abc import Callable, Iterable

from anabranch_lab.run.grid import Sample
from anabranch_lab.stats import Estimate

LOSSY = 0.01
"""From this probability on a loss is an everyday event."""
Of = Callable[..., Sample]
"""A measure of one way at a place: a value for each seed."""


def minus(of: Of, measure: str, one: str, other: str, places: Iterable[tuple]) -> dict[str, Sample]:
    """How much longer one way takes than another, seed by seed; a part for each place."""
    return {
        f"{told(place)}: {one} minus {other}, {measure}, ms": of(measure, one, *place)
        - of(measure, other, *place)
        for place in places
    }


def over(of: Of, measure: str, one: str, other: str, places: Iterable[tuple]) -> dict[str, Estimate]:
    """How many times as long one way takes as another; a part for each place."""
    return {
        f"{told(place)}: {one} over {other}, {measure}": of(measure, one, *place).over(
            of(measure, other, *place)
        )
        for place in places
    }


def told(place: tuple) -> str:
    """`10 Mbit/s, 30 ms, loss 0.01`."""
    return ", ".join(f"loss {each:g}" if isinstance(each, int | float) else str(each) for each in place)
