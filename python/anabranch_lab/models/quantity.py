"""Quantities with their units, as scenario files have them (docs/reference/scenario.md), in bytes and seconds."""

import re

_TIMES = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
_RATES = {"bit/s": 1 / 8, "kbit/s": 1e3 / 8, "Mbit/s": 1e6 / 8, "Gbit/s": 1e9 / 8}
_SIZES = {"B": 1.0, "kB": 1e3, "MB": 1e6, "KiB": 1024.0, "MiB": 1024.0**2}


def seconds(text: str) -> float:
    """A time such as `48 ms`."""
    return _read(text, _TIMES, "time")


def bytes_per_second(text: str) -> float:
    """A rate such as `10 Mbit/s`."""
    return _read(text, _RATES, "rate")


def size(text: str) -> float:
    """A size such as `1500 B`."""
    return _read(text, _SIZES, "size")


def _read(text: str, units: dict[str, float], what: str) -> float:
    found = re.fullmatch(r"\s*([0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?)\s*([A-Za-z/]*)\s*", text)
    if not found or found[2] not in units:
        raise ValueError(f"`{text}` is not a {what}: a number and one of {', '.join(units)} is needed")
    value = float(found[1]) * units[found[2]]
    if value <= 0:
        raise ValueError(f"`{text}`: a {what} must be more than 0")
    return value
