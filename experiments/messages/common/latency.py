"""Measures for all experiments of this study: latencies of calls, and the remaining rate of the bulk transfer."""

from dataclasses import dataclass

from anabranch_lab.run import grid
from anabranch_lab.run.grid import Grid
from anabranch_lab.stats import Estimate


def of_calls(column: str, total: str = "avg") -> str:
    """SQL: a latency of the small messages in milliseconds; of several sources the mean, nothing where one of them has none."""
    calls = "FILTER (kind = 'source' AND source LIKE 'calls%')"
    return f"CASE WHEN count({column}) {calls} = count(made) {calls} THEN 1e3 * {total}({column}) {calls} END"


MEASURES = {
    # Milliseconds, of one run.
    "p50": of_calls("latency_p50_s"),
    "p90": of_calls("latency_p90_s"),
    "p99": of_calls("latency_p99_s"),
    "max": of_calls("latency_max_s", "max"),
    # Mbit/s of user data from the end of the warm-up to the end of the sources: 50 s less 10 s.
    "bulk": f"{grid.of_source('%', 'bulk', 'delivered_bytes')} * 8 / 40e6",
}


@dataclass(frozen=True)
class Ways:
    """The runs of several sweeps whose axis `how` names different ways, as one table."""

    sweeps: tuple[Grid, ...]

    @property
    def ways(self) -> list[str]:
        """Every way, sweep by sweep."""
        return [how for sweep in self.sweeps for how in sweep.values("how")]

    @property
    def paths(self) -> list[str]:
        """Paths, by name."""
        return list(self.sweeps[0].values("network"))

    @property
    def losses(self) -> list[float]:
        """Loss probabilities."""
        return list(self.sweeps[0].values("loss"))

    def of(self, how: str) -> Grid:
        """The runs that have this way."""
        return next(sweep for sweep in self.sweeps if how in sweep.values("how"))

    def at(self, measure: str, how: str, path: str, loss: float) -> Estimate:
        """A mean with its interval."""
        return self.of(how).at(measure, how=how, network=path, loss=loss)

    def sample(self, measure: str, how: str, path: str, loss: float):
        """A value for each seed."""
        return self.of(how).sample(measure, how=how, network=path, loss=loss)

    def curve(self, measure: str, how: str, path: str) -> dict[float, Estimate]:
        """Over the loss probability."""
        return {loss: self.at(measure, how, path, loss) for loss in self.losses}
