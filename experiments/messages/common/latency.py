"""What the experiments of this study measure: latencies of calls, and what the bulk transfer still gets."""

from dataclasses import dataclass

from anabranch_lab import grid
from anabranch_lab.grid import Grid
from anabranch_lab.stats import Estimate

MEASURES = {
    # Milliseconds, of one run.
    "p50": f"1e3 * {grid.of_source('%', 'calls', 'latency_p50_s')}",
    "p90": f"1e3 * {grid.of_source('%', 'calls', 'latency_p90_s')}",
    "p99": f"1e3 * {grid.of_source('%', 'calls', 'latency_p99_s')}",
    "max": f"1e3 * {grid.of_source('%', 'calls', 'latency_max_s')}",
    # Mbit/s of user data from the end of the warm-up to the end of the sources: 50 s less 10 s.
    "bulk": f"{grid.of_source('%', 'bulk', 'delivered_bytes')} * 8 / 40e6",
}


@dataclass(frozen=True)
class Ways:
    """The runs of two sweeps whose axis `how` names different ways, as one table."""

    shared: Grid
    apart: Grid

    @property
    def ways(self) -> list[str]:
        """Every way, those that share a connection first."""
        return [*self.shared.values("how"), *self.apart.values("how")]

    @property
    def paths(self) -> list[str]:
        """Paths, by name."""
        return list(self.shared.values("network"))

    @property
    def losses(self) -> list[float]:
        """Loss probabilities."""
        return list(self.shared.values("loss"))

    def of(self, how: str) -> Grid:
        """The runs that have this way."""
        return self.shared if how in self.shared.values("how") else self.apart

    def at(self, measure: str, how: str, path: str, loss: float) -> Estimate:
        """A mean with its interval."""
        return self.of(how).at(measure, how=how, network=path, loss=loss)

    def sample(self, measure: str, how: str, path: str, loss: float):
        """A value for each seed."""
        return self.of(how).sample(measure, how=how, network=path, loss=loss)

    def curve(self, measure: str, how: str, path: str):
        """Over the loss probability."""
        return self.of(how).curve(measure, over="loss", how=how, network=path)
