"""How the figures of this study draw a curve."""

from matplotlib.axes import Axes


def over_loss(axes: Axes, curve, label: str, colour: str, marker: str, style: str = "-") -> None:
    """Means with their intervals over the share of packets lost, per cent."""
    axes.errorbar(
        [100 * loss for loss in curve.x],
        curve.means,
        yerr=curve.halves,
        label=label,
        color=colour,
        marker=marker,
        linestyle=style,
        markersize=4,
        capsize=2,
    )
