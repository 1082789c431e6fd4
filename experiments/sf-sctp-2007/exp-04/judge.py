"""The claims of experiment IV."""

from anabranch_lab.catalogue import Book
from anabranch_lab.claims import Claim, Explanation, Part, above, number
from anabranch_lab.grid import Grid


def claims(book: Book, runs: Grid, recovery: Grid) -> list[Claim]:
    """Every claim of the catalogue that names this experiment."""
    return [utilisation(book, runs, recovery)]


def utilisation(book: Book, runs: Grid, recovery: Grid) -> Claim:
    """Z-IV-1."""

    def judge(engine: str) -> list[Part]:
        measured = runs.curve("utilisation", over="n", engine=engine)
        return [number("n = 1, %", 92.0, measured.at(1), 2.0)]

    gain = recovery.sample("utilisation", engine="ns2-2.28", n=1) - runs.sample(
        "utilisation", engine="ns2-2.28", n=1
    )
    return book.claim(
        "Z-IV-1",
        judge,
        note=f"With a recovery point the engine of the thesis uses {gain.estimate.text(2)} points more.",
        explanation=Explanation(
            "Without a recovery point one overflow halves the window more than once.",
            runs=("recovery",),
            parts=(above("points gained by a recovery point", 0.0, gain.estimate),),
        ),
    )
