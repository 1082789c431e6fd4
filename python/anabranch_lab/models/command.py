"""`anabranch-lab model`: the throughput that this association will have on this network."""

import argparse
import json
import tomllib
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from ..run import simulation
from ..show import plots
from ..verbs import VERBS
from . import audit, engines, network, quantity, scenarios

EXAMPLE = "anabranch-lab model --subflows 2 --loss 1e-3,1e-5 --rtt '500 ms' --phi n^2"


def add(commands: Any) -> None:
    """The verb and its options."""
    model = commands.add_parser(
        "model",
        help=VERBS["model"],
        description="What an association gets on a network, by the models of Zou (2007) and ours (docs/explanation/models.md). "
        "Random losses (--loss), a Drop-Tail bottleneck (--rate and --queue), or both.",
        epilog=f"Example: {EXAMPLE}",
    )
    model.set_defaults(command=run)
    model.add_argument(
        "scenario",
        nargs="?",
        type=Path,
        metavar="SCENARIO",
        help="a scenario file: its SCTP flow, the links on its way and its engine instead of the options",
    )
    model.add_argument("--flow", metavar="NAME", help="which of the scenario's flows, if it has several")
    model.add_argument(
        "--audit", action="store_true", help="print which equations of chapter 4 are right, nothing else"
    )
    model.add_argument("--subflows", type=int, default=2, metavar="N", help="subflows (default 2)")
    model.add_argument(
        "--phi", default="n^2", help="growth parameter with FCC: 1, n, n^2, 2n^2, a number (default n^2)"
    )
    model.add_argument(
        "--loss", metavar="P[,P]", help="loss probability a packet, one or one for each subflow"
    )
    model.add_argument(
        "--rtt", metavar="TIME[,TIME]", help="round trip without a queue, one or one for each subflow"
    )
    model.add_argument("--delay", metavar="TIME", help="instead of --rtt: delay of one direction")
    model.add_argument("--rate", metavar="RATE", help="bottleneck, such as '10 Mbit/s'")
    model.add_argument("--queue", type=int, metavar="PACKETS", help="its Drop-Tail queue")
    model.add_argument(
        "--packet", default="1500 B", metavar="SIZE", help="packet on the wire (default 1500 B)"
    )
    model.add_argument("--mtu", default="1500 B", metavar="SIZE", help="MTU (default 1500 B)")
    model.add_argument(
        "--share", metavar="W[,W]", help="weights of the subflows in the shared case (default equal)"
    )
    model.add_argument(
        "--engine",
        default="ns2-2.28",
        help=f"whose rules the renewal model follows: {', '.join(engines.known())}",
    )
    model.add_argument("--json", action="store_true", help="for machines")
    model.add_argument("--plot", type=Path, metavar="FILE", help="draw it: FILE.png or FILE.svg")
    model.add_argument(
        "--over", choices=tuple(network.OVER), help="what the plot varies (default: loss, or else subflows)"
    )


def run(options: argparse.Namespace, console: Console) -> int:
    """Answers on the terminal, as JSON, and as a plot."""
    if options.audit:
        _audit(options, console)
        return 0
    where = _network(options)
    if options.plot is not None and options.plot.suffix not in (".png", ".svg"):
        raise ValueError(f"--plot {options.plot}: a name that ends in .png or .svg is needed")
    found = network.answers(where)
    if options.json:
        print(json.dumps([answer.record() for answer in found], indent=2, allow_nan=False))
    else:
        console.print(_table(where, found))
        if where.loss and where.rate is not None:
            for case in network.CASES:
                console.print(
                    f"{case}: at most {network.limit(where, found, case) / 1e6:.3f} Mbit/s with both"
                )
    if options.plot is not None:
        over = options.over or ("loss" if where.loss else "subflows")
        _plot(where, over, options.plot)
        if not options.json:
            console.print(f"drawn over {over}: {options.plot}")
    return 0


def _network(options: argparse.Namespace) -> network.Network:
    if options.scenario is not None:
        given = [f"--{name}" for name in ("loss", "rtt", "delay", "rate", "queue") if getattr(options, name)]
        if given:
            raise ValueError(f"{', '.join(given)}: with a scenario the network comes from it")
        text = options.scenario.read_text(encoding="utf-8")
        simulation.check(text, str(options.scenario))
        return scenarios.network(tomllib.loads(text), options.flow)
    if options.rtt and options.delay:
        raise ValueError("--rtt and --delay: give one of them")
    rtt: tuple[float, ...] = ()
    if options.rtt:
        rtt = tuple(quantity.seconds(part) for part in options.rtt.split(","))
    elif options.delay:
        rtt = (2 * quantity.seconds(options.delay),)
    return network.Network(
        n=options.subflows,
        phi=options.phi,
        packet=quantity.size(options.packet),
        mtu=quantity.size(options.mtu),
        rtt=rtt,
        loss=_numbers("--loss", options.loss),
        share=_numbers("--share", options.share),
        rate=quantity.bytes_per_second(options.rate) if options.rate else None,
        queue=options.queue,
        engine=options.engine,
    )


def _numbers(name: str, text: str | None) -> tuple[float, ...]:
    if not text:
        return ()
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise ValueError(f"{name} `{text}`: numbers with commas between them are needed") from None


def _table(where: network.Network, found: list[network.Answer]) -> Table:
    phi = network.phi_of(where.phi, where.n)
    title = f"{where.n} subflow{'s' if where.n > 1 else ''}, Φ = {phi:g} with FCC, engine {where.engine}"
    table = Table(title=title, title_justify="left")
    for name in ("case", "model", "Mbit/s", "subflows", "window, MTU", "losses a packet", "note"):
        table.add_column(name, justify="left" if name in ("case", "model", "note") else "right")
    before = ""
    for answer in found:
        if before and answer.case != before:
            table.add_section()
        table.add_row(
            "" if answer.case == before else answer.case,
            answer.model,
            _range(answer.low_bps / 1e6, answer.high_bps / 1e6, ".3f"),
            _subflows(answer.subflows_bps),
            "" if answer.window_mtu is None else f"{answer.window_mtu:.1f}",
            _range(answer.loss_low, answer.loss_high, ".2e"),
            "; ".join(answer.notes),
        )
        before = answer.case
    return table


def _subflows(bits: tuple[float, ...]) -> str:
    if not bits:
        return ""
    texts = [f"{value / 1e6:.3f}" for value in bits]
    return f"{len(bits)} × {texts[0]}" if len(set(texts)) == 1 else " + ".join(texts)


def _range(low: float | None, high: float | None, form: str) -> str:
    if low is None or high is None:
        return ""
    first, last = format(low, form), format(high, form)
    return first if first == last else f"{first} to {last}"


def _plot(where: network.Network, over: str, path: Path) -> None:
    xs = network.span(where, over)
    found = [network.answers(network.at(where, over, x)) for x in xs]
    with plots.style():
        figure, (axes,) = plots.panels(1)
        figure.set_size_inches(7.2, 4.2)
        for case, colour in zip(network.CASES, plots.CYCLE, strict=False):
            picked = [[a for a in each if a.case == case] for each in found]
            for model, line in ((network.STUDY, ":"), (network.RENEWAL, "-")):
                values = [a.high_bps / 1e6 for each in picked for a in each if a.model == model]
                if values:
                    axes.plot(xs, values, line, color=colour, label=f"{case}, {model}")
            bounds = [a for each in picked for a in each if a.model == network.BOTTLENECK]
            if bounds:
                low, high = ([getattr(a, name) / 1e6 for a in bounds] for name in ("low_bps", "high_bps"))
                axes.plot(xs, high, "--", color=colour, label=f"{case}, {network.BOTTLENECK}")
                axes.fill_between(xs, low, high, color=colour, alpha=0.15, linewidth=0)
        log = over in ("loss", "rate", "delay")
        plots.label(
            axes,
            "What the association gets",
            network.OVER[over],
            "Mbit/s on the wire",
            log_x=log,
            log_y=over == "loss",
        )
        axes.legend()
        path.parent.mkdir(parents=True, exist_ok=True)
        metadata = {"Software": None} if path.suffix == ".png" else {"Date": None}
        figure.savefig(path, dpi=160, metadata=metadata)
        plots.plt.close(figure)


def _audit(options: argparse.Namespace, console: Console) -> None:
    if options.json:
        print(json.dumps(audit.record(), indent=2))
        return
    table = Table(title="Chapter 4 of Zou (2007), equation by equation", title_justify="left")
    for name in ("equation", "what", "verdict", "note"):
        table.add_column(name)
    for row in audit.ROWS:
        wrong = row.verdict in (audit.WRONG, audit.MISPRINT)
        table.add_row(row.equation, row.says, f"[red]{row.verdict}[/]" if wrong else row.verdict, row.note)
    console.print(table)
    console.print(", ".join(f"{number} {verdict}" for verdict, number in audit.count().items()))
    high = ", ".join(
        f"{100 * audit.overestimate(p, phi):.1f} % (p = {p:g}, Φ = {phi})" for p, phi in audit.OVERESTIMATES
    )
    console.print(f"(4.12) as printed is too high by {high}, with packets of one MTU.")
