"""Results of runs as tables: Arrow, and from it pandas or Polars."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import pyarrow as pa

if TYPE_CHECKING:
    import pandas
    import polars

Frame = TypeVar("Frame")


@dataclass(frozen=True)
class Tables(Generic[Frame]):
    """Everything that some runs of one scenario left behind, a table for each kind of thing; every table has a column `seed`.

    A column is a key of `anabranch simulate --json`: names end in the unit, `_bps` bits per second, `_s` seconds, `_bytes` bytes;
    plain numbers are counts or shares. Times of events that did not happen are null.
    """

    flows: Frame
    """A row for each flow: `name`, `protocol`, `engine`, goodput, packets, retransmissions, times."""
    subflows: Frame
    """A row for each subflow: `flow`, `index`, `dscp`, and the columns of flows that make sense for it."""
    links: Frame
    """A row for each link and direction: `arrivals`, drops by reason, `utilisation`, queue lengths in packets."""
    groups: Frame
    """A row for each entry with `count`: the sums of its flows, and `jain`, how equally they share."""
    objects: Frame
    """A row for each object that a client fetched (traffic of kind `objects`)."""
    sources: Frame
    """A row for each source of messages (traffic of kind `messages`), with its latencies."""
    classes: Frame
    """A row for each class of a queue: `link`, `name`, and its counts."""
    shares: Frame
    """A row for each flow in each link that `record.by_flow` names: `link`, `name`, `share`."""
    trace: Frame
    """A row for each recorded event: `time_ns`, `entity`, `kind`, `flow`, `subflow`, `path`, `reason`, `seq`, `size`, `a`, `b`, `c`
    (docs/reference/trace.md has their meanings); empty without `trace=`."""


def gathered(summaries: Sequence[Mapping[str, Any]], traces: Sequence[pa.Table]) -> Tables[pa.Table]:
    """The summaries of runs as tables."""
    rows: dict[str, list[dict[str, Any]]] = {each.name: [] for each in fields(Tables)}
    for summary in summaries:
        seed = {"seed": summary["seed"]}
        for kind in ("flows", "links", "groups", "objects", "sources"):
            rows[kind] += [seed | _plain(each) for each in summary.get(kind, ())]
        for flow in summary["flows"]:
            mine = seed | {"flow": flow["name"]}
            rows["subflows"] += [mine | _plain(each) for each in flow.get("subflows", ())]
        for link in summary["links"]:
            mine = seed | {"link": link["name"]}
            rows["classes"] += [mine | _plain(each) for each in link.get("classes", ())]
            rows["shares"] += [mine | _plain(each) for each in link.get("flows", ())]
    trace = pa.concat_tables(traces, promote_options="permissive") if traces else _table([])
    return Tables(**{kind: _table(found) for kind, found in rows.items() if kind != "trace"}, trace=trace)


def to_pandas(tables: Tables[pa.Table]) -> "Tables[pandas.DataFrame]":
    """The tables as pandas frames (needs pandas)."""
    frames: dict[str, Any] = {each.name: getattr(tables, each.name).to_pandas() for each in fields(Tables)}
    return Tables(**frames)


def to_polars(tables: Tables[pa.Table]) -> "Tables[polars.DataFrame]":
    """The tables as Polars frames (needs polars); most of the memory is shared."""
    import polars

    frames: dict[str, Any] = {
        each.name: polars.from_arrow(getattr(tables, each.name)) for each in fields(Tables)
    }
    return Tables(**frames)


VALUES = {
    "ack": {"a": "blocks"},
    "dropped": {"a": "with_data"},
    "offered": {"a": "payload_bytes", "b": "flags"},
    "queue": {"a": "packets", "b": "bytes"},
    "rtt": {"a": "last_rtt_ns", "b": "srtt_ns", "c": "rto_ns"},
    "timeout": {"a": "rto_ns"},
    "window": {"a": "cwnd", "b": "ssthresh", "c": "flight"},
}
"""The meanings of the columns `a`, `b` and `c` of a kind of event, by the names of the statistics (docs/reference/results.md)."""

_MIXED = ("sample",)
"""Kinds whose columns mean something else for a link than for an end."""


def events(trace: pa.Table, kind: str) -> pa.Table:
    """The events of one kind, their values under the names of the statistics; without the columns that the kind does not use."""
    kinds = trace.column("kind").to_pylist() if trace.num_rows else []
    known = sorted({*VALUES, *_MIXED, "sent", "received", "fast-retransmit", *kinds})
    if kind not in known:
        raise ValueError(f"there is no kind of event {kind!r}; those of a trace are {', '.join(known)}")
    if not trace.num_rows:
        return trace
    found = trace.filter(pa.array([each == kind for each in kinds]))
    if kind in _MIXED:
        return found
    names = VALUES.get(kind, {})
    kept = [name for name in found.column_names if name not in ("a", "b", "c") or name in names]
    return found.select(kept).rename_columns([names.get(name, name) for name in kept])


_TYPES = {
    "u8": pa.uint8(),
    "u16": pa.uint16(),
    "u32": pa.uint32(),
    "u64": pa.uint64(),
    "i64": pa.int64(),
    "f64": pa.float64(),
}


def of_columns(columns: Sequence[tuple[str, str, int, bytes, bytes | None, list[str] | None]]) -> pa.Table:
    """Arrow arrays around the memory that the simulator filled; nothing is copied here."""
    names, arrays = [], []
    for name, kind, length, data, valid, dictionary in columns:
        validity = None if valid is None else pa.py_buffer(valid)
        array = pa.Array.from_buffers(_TYPES[kind], length, [validity, pa.py_buffer(data)])
        if dictionary is not None:
            array = pa.DictionaryArray.from_arrays(array, pa.array(dictionary, pa.string()))
        names.append(name)
        arrays.append(array)
    return pa.Table.from_arrays(arrays, names=names)


def _table(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    columns = dict.fromkeys(name for row in rows for name in row)
    # Without a type a column of empty lists would have the type null.
    kinds = {"notes": pa.list_(pa.string())}
    return pa.table({name: pa.array([row.get(name) for row in rows], kinds.get(name)) for name in columns})


def _plain(entity: Mapping[str, Any]) -> dict[str, Any]:
    """Numbers, texts and the words of `notes`; nested values have rows of their own."""
    return {
        name: value for name, value in entity.items() if name == "notes" or not isinstance(value, list | dict)
    }
