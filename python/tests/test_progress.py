import io

import pytest
from rich.console import Console

from anabranch_lab.run import progress


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_the_time_left_follows_the_costs_and_not_the_number_of_runs(clock):
    output = io.StringIO()
    with progress.Bar("a study", Console(file=output, width=200), workers=2) as bar:
        bar.begin(total=13, on_disk=3, cost=100.0)
        # The first run is nine tenths of the work and takes twice as long as thought.
        clock[0] += 90.0
        bar.step("long", 90.0)
        assert bar.left(90.0) == pytest.approx(10.0)
        for _ in range(9):
            clock[0] += 1.0
            bar.step("short", 10.0 / 9)
    text = output.getvalue()
    assert "3 of 13 runs are on disk already" in text
    assert "10 runs to make, about 50 s with 2 at a time (100 s of one processor)" in text
    assert "4 of 13 runs (long), 90 s, 10 s left" in text
    assert "13 of 13 runs (short), 99 s, 0 s left" in text


def test_what_rules_are_likely_to_ask_and_a_busy_processor_are_part_of_the_estimate(clock):
    output = io.StringIO()
    with progress.Bar("a study", Console(file=output, width=200), workers=2) as bar:
        # Two runs to try, which shared their processor with another program.
        bar.tried(2, seconds=4.0, elapsed=8.0)
        bar.begin(total=12, on_disk=2, cost=20.0, later=10.0)
        for _ in range(10):
            bar.step("a", 2.0, seconds=2.5)
        bar.begin(total=14, on_disk=12, cost=4.0)
        bar.step("b", 4.0, 2, seconds=7.0)
    text = output.getvalue()
    told = "10 runs to make, about 30 s with 2 at a time, with the seeds that are likely to be added (30 s of one processor)"
    assert told in text
    assert bar.took() == "; they took 36 s of one processor, 34 s were expected"


def test_before_the_first_run_is_done_the_costs_are_all_there_is(clock):
    bar = progress.Bar("x", Console(file=io.StringIO()), workers=4)
    bar.begin(total=2, on_disk=0, cost=40.0)
    assert bar.left(3.0) == 10.0


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.4, "0 s"),
        (119, "119 s"),
        (120, "2 min"),
        (3540, "59 min"),
        (3600, "1 h 00 min"),
        (7500, "2 h 05 min"),
    ],
)
def test_durations_as_people_say_them(seconds, text):
    assert progress.duration(seconds) == text
