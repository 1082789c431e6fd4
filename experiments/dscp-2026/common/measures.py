"""Measures of a call and of the file beside it, for all experiments of this study."""

from collections.abc import Iterable, Mapping, Sequence

from anabranch_lab.judge.figures import Table
from anabranch_lab.run.grid import Grid, of_source
from anabranch_lab.stats import Estimate

TOTAL = "sum(goodput_payload_run_bps) FILTER (kind = 'flow' AND name IN ('call', 'file')) / 1e6"
"""Mbit/s of user data of call and file together, from the end of the warm-up on."""

MEASURES = {
    # Milliseconds, of one run.
    "audio_p50": f"1e3 * {of_source('%', 'audio', 'latency_p50_s')}",
    "audio_p99": f"1e3 * {of_source('%', 'audio', 'latency_p99_s')}",
    "video_p50": f"1e3 * {of_source('%', 'video', 'latency_p50_s')}",
    "video_p99": f"1e3 * {of_source('%', 'video', 'latency_p99_s')}",
    "data_p50": f"1e3 * {of_source('%', 'data', 'latency_p50_s')}",
    "data_p99": f"1e3 * {of_source('%', 'data', 'latency_p99_s')}",
    # Per cent of the messages that were made and came before their deadline: 150 ms for audio, 200 ms for video.
    "audio_in_time": f"100 * {of_source('%', 'audio', 'in_time')} / {of_source('%', 'audio', 'made')}",
    "video_in_time": f"100 * {of_source('%', 'video', 'in_time')} / {of_source('%', 'video', 'made')}",
    "total": TOTAL,
    # Percent of the time in which the call's association had data to send, and only the receive window kept it from sending.
    "stalled": "100 * sum(receiver_limited_share) FILTER (kind = 'flow' AND name = 'call')",
    # Chunks sent again beyond the packets that the network lost, for 1000 packets sent. Nearly every chunk here fills a packet; where a
    # code point is dropped whole packets of small chunks are lost, and this measure means nothing.
    "spurious": "1000 * greatest(sum(retransmissions - packets_lost) FILTER (kind = 'flow' AND name IN ('call', 'file')), 0) "
    "/ sum(packets_sent) FILTER (kind = 'flow' AND name IN ('call', 'file'))",
    "timeouts": "sum(timeouts) FILTER (kind = 'flow' AND name IN ('call', 'file'))",
}
CROWD = {
    **MEASURES,
    "rivals": "sum(goodput_payload_run_bps) FILTER (kind = 'flow' AND name LIKE 'rival-%') / 1e6",
}
"""Measures of a call beside the ten rivals of crowd.toml."""

CALL_TABLE = (
    "audio_p50",
    "audio_p99",
    "video_p50",
    "video_p99",
    "audio_in_time",
    "video_in_time",
    "total",
    "spurious",
)
"""Columns of a table of calls without rivals."""

CALL_BESIDE = (*CALL_TABLE, "rivals")
"""Columns of a table of calls beside rivals."""

COUPLED = ("level 0, coupled", "level 1, coupled")
INDEPENDENT = ("level 0, independent", "level 1, independent")
"""Names of senders of an axis `how`: subflows of level 0 (the sender alone) and 1 (both ends), their windows coupled or not."""

NAMES = {
    "audio_p50": "audio, 50 %, ms",
    "audio_p99": "audio, 99 %, ms",
    "video_p50": "video, 50 %, ms",
    "video_p99": "video, 99 %, ms",
    "data_p50": "messages, 50 %, ms",
    "data_p99": "messages, 99 %, ms",
    "audio_in_time": "audio in time, %",
    "video_in_time": "video in time, %",
    "total": "all user data, Mbit/s",
    "spurious": "sent again in vain, of 1000 packets",
    "timeouts": "timeouts",
    "stalled": "receive window closed, % of the time",
    "rivals": "goodput of the ten rivals, Mbit/s",
}
"""Names of the measures in tables and at axes."""


def table(title: str, runs: Grid, measures: Sequence[str], note: str = "", *, shown: bool = True) -> Table:
    """A row for each point of a grid, a column for each measure; nothing where a run has no such message."""
    rows = []
    for place in runs.cells:
        at = dict(zip(runs.axes, place, strict=True))
        rows.append([*(str(value) for value in place), *(text(runs, measure, at) for measure in measures)])
    return Table(title, [*runs.axes, *(NAMES[measure] for measure in measures)], rows, note, shown)


def known(runs: Grid, measure: str, at: Mapping[str, object]) -> Estimate | None:
    """A mean with its interval; nothing where the point was not run, or a run of it has no such message."""
    values = runs.cells.get(tuple(at[axis] for axis in runs.axes), {}).get(measure, [None])
    return None if any(value is None for value in values) else runs.at(measure, **at)


def text(runs: Grid, measure: str, at: Mapping[str, object]) -> str:
    """A mean with its interval as a table shows it; "none" where there is none."""
    found = known(runs, measure, at)
    return "none" if found is None else found.text(2 if measure in ("total", "spurious") else 1)


def finding(runs: Grid, axis: str, place: str, beside: str, **at: str) -> str:
    """Delays, throughput and the rivals' throughput at a place of an axis, in words, for each way."""
    shown = ("audio_p99", "video_p99", "total") + (("rivals",) if "ten" in beside else ())

    def told(how: str) -> str:
        return ", ".join(text(runs, each, {axis: place, "how": how, **at}) for each in shown)

    names = ", ".join(NAMES[each] for each in shown)
    return (
        f"{place}, {beside}: {names}: " + "; ".join(f"{how} {told(how)}" for how in runs.values("how")) + "."
    )


def over(runs: Grid, measure: str, one: Mapping, other: Mapping, told: str) -> dict[str, Estimate]:
    """A part: the measured value at one point over that at the other."""
    return {f"{told}, {NAMES[measure]}": runs.sample(measure, **one).over(runs.sample(measure, **other))}


def at(runs: Grid, measure: str, place: Mapping, told: str) -> dict[str, Estimate]:
    """A part: the measured value at a point."""
    return {f"{told}, {NAMES[measure]}": runs.at(measure, **place)}


def merged(parts: Iterable[Mapping[str, Estimate]]) -> dict[str, Estimate]:
    """The parts of a claim."""
    return {name: value for each in parts for name, value in each.items()}
