"""The notebooks run from their first cell to their last, and are kept without output."""

import nbclient
import nbformat
import pytest

from anabranch_lab.plan import folders

BOOKS = sorted((folders.root() / "docs" / "notebooks").glob("*.ipynb"))


def test_there_are_two():
    assert [path.stem for path in BOOKS] == ["first-steps", "own-experiment"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path):
    book = nbformat.read(path, as_version=4)
    assert all(not cell.get("outputs") for cell in book.cells), "kept without output"
    # An assertion of a cell that does not hold is an error here.
    client = nbclient.NotebookClient(book, timeout=300, resources={"metadata": {"path": str(tmp_path)}})
    done = client.execute()
    code = [cell for cell in done.cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in code)
    pictures = [output for cell in code for output in cell.outputs if "image/png" in output.get("data", {})]
    assert len(pictures) == 1
