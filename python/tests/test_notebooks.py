"""The notebooks run from their first cell to their last, and their output is the kept one."""

import runpy

import nbformat
import pytest

from anabranch_lab.plan import folders

TOOL = runpy.run_path(str(folders.root() / "tools" / "notebooks.py"))
BOOKS = sorted(TOOL["BOOKS"].glob("*.ipynb"))


def test_there_are_two():
    assert [path.stem for path in BOOKS] == ["first-steps", "own-experiment"]


def shown(cell):
    """The output of a cell and the value of its last line, without progress (which has times) and pictures."""
    prints = [
        output.text for output in cell.outputs if output.output_type == "stream" and output.name == "stdout"
    ]
    values = [output.data["text/plain"] for output in cell.outputs if output.output_type == "execute_result"]
    return prints, values


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_is_kept(path, tmp_path):
    kept = nbformat.read(path, as_version=4)
    # An assertion of a cell that does not hold is an error here.
    done = TOOL["run"](nbformat.read(path, as_version=4), tmp_path)
    code = [cell for cell in done.cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in code)
    for cell, old in zip(done.cells, kept.cells, strict=True):
        if cell.cell_type == "code":
            assert shown(cell) == shown(old), "python tools/notebooks.py keeps what it shows now"
    for book in (done, kept):
        outputs = [output for cell in book.cells for output in cell.get("outputs", [])]
        pictures = [output for output in outputs if "image/png" in output.get("data", {})]
        assert len(pictures) == 1
    assert path.stat().st_size < 150_000, "a page for a reader, in git"
