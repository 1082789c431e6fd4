import pytest
from fake import simulate as fake_simulate

from anabranch_lab import experiment
from anabranch_lab.sweep import Runner


@pytest.fixture
def satellite():
    """The plan of the satellite study."""
    return experiment.find(experiment.root() / "experiments", "satellite-2005")


@pytest.fixture
def runner(satellite, tmp_path):
    """The satellite study with a simulator that makes numbers up: for what does not depend on them."""
    return Runner(satellite, tmp_path / "results", code="fake", simulate=fake_simulate)
