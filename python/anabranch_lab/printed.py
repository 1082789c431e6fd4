"""What a publication prints may not be changed by a variant that is to explain a difference, whatever the variant says of itself.

A study lists the keys of its scenarios that the publication prints a value for (`printed` in study.toml: patterns); a plan says of which of them its experiment is
silent, and why (`left_open`: key and reason). A variant changes a key when it sets it to a value that no judged sweep of the plan has.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, Protocol


class _Axis(Protocol):
    @property
    def settings(self) -> Sequence[Mapping[str, Any]]: ...


class Settings(Protocol):
    """What is asked of a sweep."""

    @property
    def set(self) -> Mapping[str, Any]:
        """What it sets in its scenario."""

    @property
    def axes(self) -> Sequence[_Axis]:
        """Its dimensions; each value of one sets more."""


def values(sweep: Settings) -> Iterator[tuple[str, str]]:
    """Each key that a sweep or one of its axes sets, tables taken apart, with its value as text."""
    for each in (sweep.set, *(setting for axis in sweep.axes for setting in axis.settings)):
        for key, value in each.items():
            yield from _leaves(key, value)


def _leaves(key: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for inner, under in value.items():
            yield from _leaves(f"{key}.{inner}", under)
    else:
        yield key, json.dumps(value, sort_keys=True, default=str)


def _is(key: str, value: str, other: str, its: str) -> bool:
    """The same key, of one place or of all of a kind, with the same value."""
    return value == its and (fnmatchcase(key, other) or fnmatchcase(other, key))


def changed(
    variant: Settings, judged: Iterable[Settings], printed: Sequence[str], left_open: Mapping[str, str]
) -> list[str]:
    """The printed keys that a variant sets to what no judged sweep has, sorted."""
    known = {pair for sweep in judged for pair in values(sweep)}
    mine = {key for key, value in values(variant) if not any(_is(key, value, *pair) for pair in known)}
    return sorted(
        key for key in mine if key not in left_open and any(fnmatchcase(key, pattern) for pattern in printed)
    )
