import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch_lab import store


def test_a_failed_write_leaves_the_old_file_and_no_litter(tmp_path, monkeypatch):
    results = store.Store(tmp_path)
    path = results.path("s", "k", 1)
    results.write(pa.table({"x": [1]}), path)

    def fails(table, where, **more):
        where.write_bytes(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(store.pq, "write_table", fails)
    with pytest.raises(OSError, match="disk full"):
        results.write(pa.table({"x": [2]}), path)
    assert [p.name for p in path.parent.iterdir()] == [path.name]
    assert results.rows([path], "SELECT * FROM runs") == [{"x": 1}]


def test_files_with_different_columns_are_one_table(tmp_path):
    results = store.Store(tmp_path)
    paths = [results.path("s", "k'k", seed) for seed in (1, 2)]
    results.write(pa.table({"x": [1], "y": ["a"]}), paths[0])
    results.write(pa.table({"x": [2], "z": [0.5]}), paths[1])
    rows = results.rows(paths, "SELECT x, y, z FROM runs ORDER BY x")
    assert rows == [{"x": 1, "y": "a", "z": None}, {"x": 2, "y": None, "z": 0.5}]


def test_asking_for_what_is_not_there_says_what_to_do(tmp_path):
    results = store.Store(tmp_path)
    with pytest.raises(FileNotFoundError, match="run the experiment first"):
        results.rows([results.path("s", "k", 1)], "SELECT 1")


@given(st.lists(st.text(max_size=5), max_size=4), st.lists(st.text(max_size=5), max_size=4))
def test_keys_differ_when_the_parts_do(first, second):
    assert (store.key(*first) == store.key(*second)) == (first == second)
