"""The growth parameter of fractional congestion control, as the experiments vary it.

In a plan:

    [axes.phi]
    label = "Φ"
    [axes.phi.values]
    "1" = { "flow.sf.coupling" = "independent" }
    "n" = { "flow.sf.coupling" = "fcc(n)" }
    "n^2" = { "flow.sf.coupling" = "fcc(n^2)" }
    "2n^2" = { "flow.sf.coupling" = "fcc(2n^2)" }
"""

from anabranch_lab.show import plots

NAMES = ("1", "n", "n^2", "2n^2")
"""The names of Phi, in the order of the thesis."""
LABELS = {"1": "Φ = 1", "n": "Φ = n", "n^2": "Φ = n²", "2n^2": "Φ = 2n²"}
LOOK = {
    name: {"color": colour, "marker": marker}
    for name, colour, marker in zip(NAMES, plots.CYCLE, ("o", "^", "s", "D"), strict=False)
}
"""The look of each Phi in every figure; engines are told apart by the line (`plots.ENGINES`)."""


def value(name: str, subflows: int) -> float:
    """Φ as a number."""
    return float({"1": 1, "n": subflows, "n^2": subflows**2, "2n^2": 2 * subflows**2}[name])
