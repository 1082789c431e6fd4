"""Results on disk: one Parquet file for every finished run, and DuckDB to ask them questions."""

import contextlib
import hashlib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq


def key(*parts: str) -> str:
    """A short name for what a result depends on: equal parts, equal key."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part.encode())
    return digest.hexdigest()[:16]


class Store:
    """Results as `FOLDER/SWEEP/KEY-SEED.parquet`, and `.trace.parquet` beside it for a recorded run."""

    def __init__(self, folder: Path):
        self.folder = folder

    def path(self, sweep: str, key: str, seed: int, kind: str = "runs") -> Path:
        """Where the result of one run is, or would be."""
        suffix = ".parquet" if kind == "runs" else f".{kind}.parquet"
        return self.folder / sweep / f"{key}-{seed}{suffix}"

    def has(self, sweep: str, key: str, seed: int, kinds: Iterable[str] = ("runs",)) -> bool:
        """Whether the run is on disk, whole."""
        return all(self.path(sweep, key, seed, kind).is_file() for kind in kinds)

    def write(self, table: pa.Table, path: Path) -> None:
        """Writes a file that is either whole or not there."""
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.name}.{os.getpid()}.part")
        try:
            pq.write_table(table, part, compression="zstd")
            part.replace(path)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                part.unlink()
            raise

    def clean(self) -> None:
        """Removes what a killed process left half written."""
        for part in self.folder.glob("*/*.part"):
            part.unlink()

    def rows(self, paths: Sequence[Path], sql: str, parameters: Sequence[Any] = ()) -> list[dict[str, Any]]:
        """Runs a query over `runs`, the union of the files given; one dict a row."""
        table = self.table(paths, sql, parameters)
        return table.to_pylist()

    def table(self, paths: Sequence[Path], sql: str, parameters: Sequence[Any] = ()) -> pa.Table:
        """The same as an Arrow table."""
        missing = [path for path in paths if not path.is_file()]
        if missing:
            raise FileNotFoundError(
                f"{len(missing)} of {len(paths)} results are not on disk, the first is {missing[0]}: "
                "run the experiment first"
            )
        with duckdb.connect() as connection:
            connection.execute("SET threads = 2")
            files = ", ".join("'" + str(path).replace("'", "''") + "'" for path in paths)
            connection.execute(
                f"CREATE VIEW runs AS SELECT * FROM read_parquet([{files}], union_by_name = true)"
            )
            return connection.sql(sql, params=list(parameters)).to_arrow_table()
