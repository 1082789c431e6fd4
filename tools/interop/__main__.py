"""`python -m interop`: see --help."""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from . import cases as all_cases
from . import matrix, peers
from .run import Cell, measure, play_often


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="interop", description="Other SCTP stacks against ours.")
    parser.add_argument("--peer", action="append", default=[], help="only this peer; may be repeated")
    parser.add_argument("--case", action="append", default=[], help="only this case; may be repeated")
    parser.add_argument("--quick", action="store_true", help="the peers that are crates, and five cases")
    parser.add_argument(
        "--merge", action="store_true", help="keep the cells of the last run that are not played again"
    )
    parser.add_argument("--no-build", action="store_true", help="the drivers as they were built last")
    parser.add_argument("--out", type=Path, default=peers.ROOT / "out" / "interop")
    parser.add_argument("--jobs", type=int, default=2, help="cases at a time (default 2)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the relay")
    return parser.parse_args()


def _build(wanted: list[peers.Peer]) -> tuple[dict[str, list[str]], dict[str, str]]:
    """Command lines of those that can be built, and why the others cannot."""
    peers.together(["relay", "anabranch", *(peer.name for peer in wanted)])
    commands = {"relay": peers.cargo("peer-relay"), "anabranch": peers.cargo("peer-anabranch")}
    missing = {}
    for peer in wanted:
        try:
            commands[peer.name] = peer.build()
        except peers.BuildError as error:
            missing[peer.name] = str(error)
            print(f"{peer.name} is left out: {error}", file=sys.stderr)
    return commands, missing


def main() -> int:
    """Builds, plays, judges; 1 if a case fails."""
    arguments = _arguments()
    wanted = peers.named(arguments.peer)
    chosen = all_cases.named(arguments.case)
    if arguments.quick:
        wanted = [peer for peer in wanted if peer.crates_only]
        chosen = [case for case in chosen if case.quick]
    peers.BUILDS = not arguments.no_build
    try:
        peers.need("tshark", "tshark")
    except peers.BuildError as error:
        raise SystemExit(str(error)) from error
    arguments.out.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    alike: dict[str, float] = {}
    commands, missing = _build(wanted)
    print(f"drivers built in {time.monotonic() - began:.0f} s", flush=True)

    def one(task: tuple[all_cases.Case, peers.Peer, str]) -> Cell:
        case, peer, role = task
        if peer.name in missing:
            return Cell(case.name, peer.name, role, "cannot", [missing[peer.name]])
        if case.measured:
            cell = measure(case, peer, role, commands, arguments.out, arguments.seed, alike)
        else:
            cell = play_often(case, peer, role, commands, arguments.out, arguments.seed)
        why = f": {'; '.join(cell.why)}" if cell.why else ""
        why = f", {cell.mbits:.0f} Mbit/s{why}" if cell.mbits else why
        print(
            f"{cell.state:<6} {case.name} with {peer.name}, which {role}s ({cell.seconds:.1f} s){why}",
            flush=True,
        )
        return cell

    tasks = [(case, peer, role) for case in chosen for peer in wanted for role in case.roles]
    # Cases that measure run alone: they have the machine for themselves.
    together = [task for task in tasks if not task[0].measured]
    with ThreadPoolExecutor(max_workers=arguments.jobs) as pool:
        cells = list(pool.map(one, together))
    cells += [one(task) for task in tasks if task[0].measured]
    head = f"{time.strftime('%Y-%m-%d %H:%M')} UTC, seed {arguments.seed}, {time.monotonic() - began:.0f} s"
    failed = [cell for cell in cells if cell.state == "fail"]
    passed = sum(cell.state == "pass" for cell in cells)
    summary = f"{passed} passed, {len(failed)} failed, {len(cells) - passed - len(failed)} cannot be played"
    if arguments.merge:
        cells = matrix.merged(arguments.out, cells)
        chosen = [case for case in all_cases.CASES if any(cell.case == case.name for cell in cells)]
        wanted = [peer for peer in peers.ALL if any(cell.peer == peer.name for cell in cells)]
    matrix.save(arguments.out, chosen, cells, {peer.name: peer.about for peer in wanted}, head)
    print("\n" + matrix.as_text(chosen, cells))
    print(
        "\n(each pair: the peer listens / the peer connects; - means that it cannot, with the reason in matrix.html)"
    )
    print(arguments.out / "matrix.html")
    for cell in failed:
        print(f"FAIL {cell.case} with {cell.peer}, which {cell.role}s: {'; '.join(cell.why)}")
    print(summary)
    # A crate can be had everywhere: one that is left out has not been tested.
    return 1 if failed or (arguments.quick and missing) else 0


if __name__ == "__main__":
    sys.exit(main())
