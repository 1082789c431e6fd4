"""Runs the notebooks of docs/notebooks and keeps the output of their cells.

    python tools/notebooks.py     after a change of a notebook or of its output

`python/tests/test_notebooks.py` runs them too, and fails where the output of a cell is not the kept one.
"""

import tempfile
from pathlib import Path

import nbclient
import nbformat

BOOKS = Path(__file__).resolve().parent.parent / "docs" / "notebooks"


def run(book: nbformat.NotebookNode, folder: Path) -> nbformat.NotebookNode:
    """The notebook with the output of its cells, run in a folder. A cell that fails is an error."""
    client = nbclient.NotebookClient(
        book, timeout=300, record_timing=False, resources={"metadata": {"path": str(folder)}}
    )
    return client.execute()


def main() -> None:
    """Runs and writes them all."""
    for path in sorted(BOOKS.glob("*.ipynb")):
        with tempfile.TemporaryDirectory() as folder:
            book = run(nbformat.read(path, as_version=4), Path(folder))
            # The version of Python is no part of the notebook.
            book.metadata.language_info.pop("version", None)
            text = nbformat.writes(book).replace(f"{folder}/", "")
        path.write_text(f"{text}\n", encoding="utf-8")
        print(f"{path.relative_to(BOOKS.parent.parent)}: {path.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
