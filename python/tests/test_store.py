import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch_lab.run import store


def put(results, path, **columns):
    results.write(store.encode(pa.table(columns)), path)


def test_a_failed_write_leaves_the_old_file_and_no_litter(tmp_path, monkeypatch):
    results = store.Store(tmp_path, "code")
    path = results.path("key", 1)
    put(results, path, x=[1])

    def fails(self, data):
        with self.open("wb") as file:
            file.write(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(store.Path, "write_bytes", fails)
    with pytest.raises(OSError, match="disk full"):
        put(results, path, x=[2])
    assert [p.name for p in path.parent.iterdir()] == [path.name]
    assert store.query([path], [{}], "SELECT * FROM runs").to_pylist() == [{"x": 1}]


def test_files_with_different_columns_are_one_table_beside_their_points(tmp_path):
    results = store.Store(tmp_path / "it's", "c")
    paths = [results.path("key", seed) for seed in (1, 2)]
    put(results, paths[0], x=[1], y=["a"])
    put(results, paths[1], x=[2, 3], z=[0.5, 0.25])
    rows = store.query(paths, [{"n": 4}, {"n": 9}], "SELECT n, x, y, z FROM runs ORDER BY x").to_pylist()
    assert rows == [
        {"n": 4, "x": 1, "y": "a", "z": None},
        {"n": 9, "x": 2, "y": None, "z": 0.5},
        {"n": 9, "x": 3, "y": None, "z": 0.25},
    ]


def test_a_result_that_two_points_share_counts_for_both(tmp_path):
    results = store.Store(tmp_path, "c")
    path = results.path("key", 1)
    put(results, path, x=[7])
    rows = store.query([path, path], [{"n": 1}, {"n": 2}], "SELECT n, x FROM runs ORDER BY n").to_pylist()
    assert rows == [{"n": 1, "x": 7}, {"n": 2, "x": 7}]


def test_other_code_is_another_place(tmp_path):
    first, second = store.Store(tmp_path, "one"), store.Store(tmp_path, "two")
    put(first, first.path("key", 1), x=[1])
    assert first.has("key", 1)
    assert not second.has("key", 1)


def test_other_builds_are_removed_and_nothing_else(tmp_path):
    mine, old = store.Store(tmp_path, "0123456789abcdef"), store.Store(tmp_path, "fedcba9876543210")
    for results in (mine, old, store.Store(tmp_path, "notes")):
        put(results, results.path("key", 1), x=[1])
    (tmp_path / "costs.json").touch()
    assert store.prune(tmp_path, "0123456789abcdef") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0123456789abcdef", "costs.json", "notes"]
    assert mine.has("key", 1)


def test_asking_for_what_is_not_there_says_what_to_do(tmp_path):
    with pytest.raises(FileNotFoundError, match="run the experiment first"):
        store.query([store.Store(tmp_path, "c").path("k", 1)], [{}], "SELECT 1")


def test_the_same_table_is_the_same_bytes():
    table = {"x": [1.5, None], "y": ["a", "b"]}
    assert store.encode(pa.table(table)) == store.encode(pa.table(table))
    assert store.encode(pa.table(table)) != store.encode(pa.table(table | {"x": [1.5, 2.0]}))


@given(st.lists(st.text(max_size=5), max_size=4), st.lists(st.text(max_size=5), max_size=4))
def test_keys_differ_when_the_parts_do(first, second):
    assert (store.key(*first) == store.key(*second)) == (first == second)
