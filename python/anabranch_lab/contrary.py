"""Parts of claims that point the other way in a quick look, which judges nothing: so CI notices a sign that was reversed.

A quick look has few seeds and short runs. A part counts when all that was measured lies on the wrong side of what the claim says, by more
than one run differs from another (`Part.contrary`), or, where nothing is drawn, when it does not hold. Such parts are known for claims
that are not reproduced, and where short runs differ from long ones; they stand in `contrary.txt` of the study. Another one is an error.
"""

from collections.abc import Sequence

from .claims import Claim
from .folders import Study

FILE = "contrary.txt"
_HEAD = """# Parts of claims that point the other way in a quick look (`anabranch-lab studies --quick`): few seeds, short runs.
# Written by `--accept`; one that is not here is an error. A claim: its part.
"""


def lines(found: Sequence[Claim]) -> list[str]:
    """`claim: part` for every part that points the other way."""
    return [f"{claim.id}: {part.at}" for claim in found for part in claim.contrary]


def watched(study: Study) -> bool:
    """Whether anything was ever accepted, be it that nothing points the other way: otherwise nothing is an error."""
    return (study.folder / FILE).is_file()


def known(study: Study) -> set[str]:
    """Lines (`claim: part`) that are accepted."""
    file = study.folder / FILE
    if not watched(study):
        return set()
    return {line for line in file.read_text(encoding="utf-8").splitlines() if line and line[0] != "#"}


def new(study: Study, found: Sequence[Claim]) -> list[str]:
    """Lines (`claim: part`) that are not accepted."""
    accepted = known(study)
    return [line for line in lines(found) if line not in accepted]


def write(study: Study, found: Sequence[Claim]) -> None:
    """Accepts what there is; of claims that were not looked at, what was accepted before stays."""
    seen = tuple(f"{claim.id}: " for claim in found)
    kept = [line for line in known(study) if not line.startswith(seen)]
    text = "".join(f"{line}\n" for line in sorted([*kept, *lines(found)]))
    (study.folder / FILE).write_text(_HEAD + text, encoding="utf-8")
