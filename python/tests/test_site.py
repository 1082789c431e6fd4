"""The versions of the site: a folder for each, and a list that the selector of its pages reads."""

import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def site():
    """tools/site.py, whose name is that of a module of Python."""
    spec = importlib.util.spec_from_file_location("site_of_the_project", ROOT / "tools" / "site.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_earlier_versions_stay_and_the_newest_is_the_first(site, tmp_path):
    for name in ("0.2.0", "0.10.0", "0.10.0-rc.1", "assets"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "index.html").touch()
    (tmp_path / "0.11.0").mkdir()  # It was not finished.
    site.versions(tmp_path)
    listed = json.loads((tmp_path / "versions.json").read_text())
    assert [each["version"] for each in listed] == ["0.10.0", "0.10.0-rc.1", "0.2.0"]
    assert [each["aliases"] for each in listed] == [["latest"], [], []]
    assert "url=0.10.0/index.html" in (tmp_path / "index.html").read_text()


def test_the_version_is_that_of_the_crates(site):
    assert f'\nversion = "{site.VERSION}"\n' in (ROOT / "Cargo.toml").read_text()
