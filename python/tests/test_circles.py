"""The check for circles of imports finds them, and nothing else."""

import importlib.util
import sys

import pytest

from anabranch_lab.plan import folders

ROOT = folders.root()


@pytest.fixture(scope="module")
def circles():
    spec = importlib.util.spec_from_file_location("check_circles", ROOT / "tools" / "check_circles.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["check_circles"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def checkout(tmp_path):
    """Writes files into a checkout; returns its folder."""

    def write(files):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    return write


CLEAN = {
    "python/lab/__init__.py": "",
    "python/lab/a.py": "from .b import B\n",
    "python/lab/b.py": "import json\n",
}


def test_a_chain_is_no_circle(circles, checkout):
    assert circles.check(checkout(CLEAN)) == []


def test_files_that_need_each_other(circles, checkout):
    folder = checkout(
        {
            "python/lab/__init__.py": "",
            "python/lab/a.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .b import B\n",
            "python/lab/b.py": "def f():\n    from lab import c\n",
            "python/lab/c.py": "from . import a\nimport json\n",
            "experiments/study/one/analysis.py": "from ..common import shared\nfrom . import judge\n",
            "experiments/study/one/judge.py": "from .analysis import Point\n",
            "experiments/study/common/shared.py": "import math\n",
        }
    )
    study, package = circles.check(folder)
    assert study.splitlines()[0] == "circle of 2 files:"
    assert "from experiments/study/one/analysis.py: Point" in study
    assert package.splitlines()[0] == "circle of 3 files:"
    assert "  python/lab/a.py\n      from python/lab/b.py: B" in package


def test_there_are_none_here(circles):
    assert circles.check(ROOT) == []


def test_the_command_prints_them_and_fails(circles, checkout, capsys, monkeypatch):
    folder = checkout({**CLEAN, "python/lab/b.py": "from lab.a import A\n"})
    monkeypatch.setattr(sys, "argv", ["check_circles.py", str(folder)])
    assert circles.main() == 1
    assert capsys.readouterr().out.startswith("circle of 2 files:")
    (folder / "python" / "lab" / "b.py").write_text(CLEAN["python/lab/b.py"])
    assert circles.main() == 0
    assert capsys.readouterr().out == ""
