"""Results on disk: one Parquet file for every finished run, and queries over them by DuckDB."""

import contextlib
import hashlib
import os
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

BUILD = re.compile(r"[0-9a-f]{16}")
"""The form of a build's name."""


def key(*parts: str) -> str:
    """A short name for the inputs of a result: equal parts, equal key."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part.encode())
    return digest.hexdigest()[:20]


class Store:
    """Results as `FOLDER/CODE/KE/KEY-SEED.parquet`, and `.trace.parquet` beside it for a recorded run.

    The key is that of the scenario: experiments that run the same thing share its results.
    """

    def __init__(self, folder: Path, code: str):
        self.folder = folder / code

    def path(self, key: str, seed: int, kind: str = "runs") -> Path:
        """The path of the result of one run, on disk or not yet."""
        suffix = ".parquet" if kind == "runs" else f".{kind}.parquet"
        return self.folder / key[:2] / f"{key}-{seed}{suffix}"

    def has(self, key: str, seed: int, kinds: Iterable[str] = ("runs",)) -> bool:
        """Whether the run is on disk, whole."""
        return all(self.path(key, seed, kind).is_file() for kind in kinds)

    def write(self, data: bytes, path: Path) -> None:
        """Writes a file that is either whole or not there."""
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.name}.{os.getpid()}.part")
        try:
            part.write_bytes(data)
            part.replace(path)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                part.unlink()
            raise

    def clean(self) -> None:
        """Removes the half-written files of killed processes; files that a running process is writing stay."""
        for part in self.folder.glob("*/*.part"):
            if not is_running(part.name.split(".")[-2]):
                part.unlink(missing_ok=True)


def prune(folder: Path, code: str) -> int:
    """Removes the results of every build but one; returns how many builds that were."""
    others = [
        path
        for path in folder.glob("*")
        if path.is_dir() and BUILD.fullmatch(path.name) and path.name != code
    ]
    for path in others:
        shutil.rmtree(path)
    return len(others)


def is_running(process: str, *, me: bool = False) -> bool:
    """Whether a process of that number is there; this one counts only with `me`."""
    if not process.isdecimal() or (int(process) == os.getpid() and not me):
        return False
    try:
        os.kill(int(process), 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def encode(table: pa.Table) -> bytes:
    """Returns a table as the bytes of a Parquet file; the same table gives the same bytes."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    return sink.getvalue().to_pybytes()


def query(
    files: Sequence[Path], points: Sequence[Mapping[str, Any]], sql: str, parameters: Sequence[Any] = ()
) -> pa.Table:
    """Runs a query over `runs`: the union of the files, each beside the row of `points` that belongs to it.

    Where points have a `run`, files hold batches: to a point belong the rows of that run.
    """
    missing = [path for path in files if not path.is_file()]
    if missing:
        raise FileNotFoundError(
            f"{len(missing)} of {len(files)} results are not on disk, the first is {missing[0]}: "
            "run the experiment first"
        )
    names = [str(path) for path in files]
    columns = {name: pa.array([point[name] for point in points]) for name in (points[0] if points else {})}
    places = pa.table({"file": names, **columns})
    with duckdb.connect() as connection:
        connection.execute("SET threads = 2")
        connection.register("places", places)
        same = "file, run" if "run" in columns else "file"
        found = ", ".join("'" + name.replace("'", "''") + "'" for name in dict.fromkeys(names))
        connection.execute(
            f"CREATE VIEW runs AS SELECT places.* EXCLUDE ({same}), data.* EXCLUDE ({same}) FROM "
            f"read_parquet([{found}], union_by_name = true, filename = 'file') AS data "
            f"JOIN places USING ({same})"
        )
        return connection.sql(sql, params=list(parameters)).to_arrow_table()
