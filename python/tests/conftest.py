import fake
import pytest

from anabranch_lab.judge import experiment
from anabranch_lab.plan import folders
from anabranch_lab.run.results import Results


@pytest.fixture(scope="session")
def satellite():
    """The plan of the satellite study."""
    return folders.find(folders.root() / "experiments", "satellite-2005")


@pytest.fixture
def results(satellite, tmp_path):
    """Results of the satellite study that are not made yet, for a simulator that makes numbers up (`fake.run`)."""
    return Results(satellite, tmp_path / "results", code="fake")


@pytest.fixture(scope="session")
def made_up(satellite, tmp_path_factory):
    """Results of the satellite study with numbers made up: made once, for tests that only read them."""
    results = Results(satellite, tmp_path_factory.mktemp("satellite") / "results", code="fake")
    fake.run(results, 4)
    return results


@pytest.fixture(scope="session")
def analysed(made_up):
    """The analysis of the satellite study on made-up numbers."""
    return experiment.analyse(made_up)
