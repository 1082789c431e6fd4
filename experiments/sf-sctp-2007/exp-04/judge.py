"""The claims of experiment IV."""

from anabranch_lab.catalogue import Book
from anabranch_lab.claims import Claim, Explanation, Part, above, number
from anabranch_lab.grid import Grid


def claims(book: Book, runs: Grid, recovery: Grid) -> list[Claim]:
    """Every claim of the catalogue that names this experiment."""
    return [utilisation(book, runs, recovery), drops(book, runs)]


def utilisation(book: Book, runs: Grid, recovery: Grid) -> Claim:
    """Z-IV-1."""

    def judge(engine: str) -> list[Part]:
        measured = runs.curve("utilisation", over="n", engine=engine)
        return [
            number("n = 1, %", 92.0, measured.at(1), 2.0),
            number("n = 12, %", 95.4, measured.at(12), 2.0),
            number("rise, pp", 3.4, measured.rise(1, 12), 1.5),
        ]

    with_it = recovery.curve("utilisation", over="n", engine="ns2-2.28")
    without = runs.curve("utilisation", over="n", engine="ns2-2.28")
    gains = {n: (with_it.sample(n) - without.sample(n)).estimate for n in (1, 12)}
    return book.claim(
        "Z-IV-1",
        judge,
        note="A recovery point changes the utilisation by "
        + " and ".join(f"{gain.text(2)} points at n = {n}" for n, gain in gains.items())
        + ".",
        explanation=Explanation(
            "Without a recovery point one overflow halves the window more than once.",
            runs=("recovery",),
            parts=tuple(
                above(f"points gained by a recovery point, n = {n}", 0.0, gain) for n, gain in gains.items()
            ),
        ),
    )


def drops(book: Book, runs: Grid) -> Claim:
    """Z-IV-2."""

    def judge(engine: str) -> list[Part]:
        measured = runs.curve("drop_rate", over="n", engine=engine)
        return [number("log-log slope", 2.0, measured.exponent(), 0.4)]

    return book.claim("Z-IV-2", judge)
