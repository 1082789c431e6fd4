"""Times as scenario files have them: `"20 ms"`; a plain number is seconds."""

import re

_TIMES = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9}
_TIME = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*(ns|us|ms|s|min|h)\s*")


def nanoseconds(time: str | float) -> int:
    """Nanoseconds in a text such as `"20 ms"`, or in a number of seconds."""
    if isinstance(time, str):
        found = _TIME.fullmatch(time)
        if not found:
            raise ValueError(f"`{time}` is not a time: a number and one of {', '.join(_TIMES)} is needed")
        value = float(found[1]) * _TIMES[found[2]]
    else:
        value = time * 1e9
    if not 0 <= value < 2**63:
        raise ValueError(f"{time}: a time of 0 s to 292 years is needed")
    return round(value)
