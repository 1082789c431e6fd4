"""How the figures of this study draw a curve."""

import math
from collections.abc import Mapping

from matplotlib.axes import Axes

from anabranch_lab.stats import Estimate


def over_loss(
    axes: Axes, points: Mapping[float, Estimate], label: str, colour: str, marker: str, style: str = "-"
) -> None:
    """Means with their intervals over the share of packets lost, per cent; each point has the seeds that it needs."""
    axes.errorbar(
        [100 * loss for loss in points],
        [each.mean for each in points.values()],
        yerr=[each.half if math.isfinite(each.half) else 0.0 for each in points.values()],
        label=label,
        color=colour,
        marker=marker,
        linestyle=style,
        markersize=4,
        capsize=2,
    )
