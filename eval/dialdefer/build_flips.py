"""`evenhand build flips`: the claims that a judge decided differently, with its reasons, as a folder to ask about."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from eval.dialdefer.flip_sources import file_sources, run_source
from eval.dialdefer.found_flips import FoundFlips, Framing, Side, facts_of, flips_between, framing_of
from eval.dialdefer.parsing import PARSERS
from eval.dialdefer.runs import load_run
from eval.estimates.comparability import differences, refuse_serious, say_differences
from eval.judge_names import judge_names
from eval.verdict_files import is_verdict_file
from evenhand.errors import DataError
from evenhand.manifest import refuse_foreign
from evenhand.sources.fetching import locked
from evenhand.terminal import say
from studies.flips import FLIPS_FILE, KIND, LENIENT, write_flips

KINDS = ("lost", "gained")


def main(argv: Sequence[str]) -> None:
    """Find the claims that a judge decided differently in two framings of a run (C1 and C2 unless told otherwise), or
    of two runs before and after training; or of each model in files of verdicts. Null verdicts are never flips."""
    options = build_options(argv)
    refuse_foreign(options.out)
    if is_verdict_file(options.sources[0]):
        found, framings = of_files(options)
    else:
        found, framings = of_runs(options)
    facts = {
        "source": [path.name for path in options.sources],
        "framings": [str(framing) for framing in framings],
        "kinds": options.kinds,
        **facts_of(found),
    }
    with locked(options.out, f"build {KIND}"):
        write_flips(options.out, (flip for of in found for flip in of.flips), facts)
    say("\n".join(line for of in found for line in summary(of)))
    say(f"{options.out / FLIPS_FILE}: done. It holds texts of the items: keep it where you keep them.")


def of_runs(options: argparse.Namespace) -> tuple[list[FoundFlips], tuple[Framing, Framing]]:
    """Flips within one run, or from one run to another."""
    runs = [load_run(path, options.parser) for path in options.sources]
    names = judge_names([run.model for run in runs], [run.name for run in runs])
    if len(runs) > 2:
        raise DataError(f"{options.sources[2]}: is one too many; name one run, or two: before and after training")
    if len(runs) == 1:
        framings = framing_of(options.first or "c1"), framing_of(options.second or "c2")
        source = run_source(runs[0], names[0])
        sides = [Side(source=source, framing=framing, roles=options.roles) for framing in framings]
    else:
        framings = framing_of(options.first or "c2", "before"), framing_of(options.second or "c2", "after")
        differs = differences(runs[0], runs[1])
        if not options.allow_differences:
            refuse_serious(names[0], {names[1]: differs})
        say_differences(differs)
        sources = run_source(runs[0], names[0]), run_source(runs[1], f"{names[0]} → {names[1]}")
        sides = [
            Side(source=source, framing=framing, roles=options.roles)
            for source, framing in zip(sources, framings, strict=True)
        ]
    return [flips_between(sides[0], sides[1], options.kinds)], framings


def of_files(options: argparse.Namespace) -> tuple[list[FoundFlips], tuple[Framing, Framing]]:
    """Flips of each model in files of verdicts."""
    framings = framing_of(options.first or "c1"), framing_of(options.second or "c2")
    found = []
    for source in file_sources(options.sources, options.parser, options.root):
        first, second = (Side(source=source, framing=framing, roles=options.roles) for framing in framings)
        found.append(flips_between(first, second, options.kinds))
    return found, framings


def summary(found: FoundFlips) -> list[str]:
    """What was found of one model, and what to know of it."""
    n, n_lenient = len(found.flips), sum(flip.direction == LENIENT for flip in found.flips)
    n_items, n_undecided = (sum(map(len, of.values())) for of in (found.items, found.undecided))
    lines = [
        f"{found.model}: {n} flips ({n_lenient} accept the second time, {n - n_lenient} reject) of {n_items} items; "
        f"{n_undecided} claims without a verdict on both sides, {found.n_errors} items lost to engine errors."
    ]
    n_mute = sum(not (flip.first.reason and flip.second.reason) for flip in found.flips)
    if n_mute:
        lines.append(f"  Warning: {n_mute} flips lack a reason on one side or both: no code can be told of silence.")
    if n_bare := sum(not flip.claim for flip in found.flips):
        lines.append(f"  Warning: {n_bare} flips lack question and claim: the items are not at hand, or have changed.")
    return lines


def build_options(argv: Sequence[str]) -> argparse.Namespace:
    """The words of `evenhand build flips`."""
    parser = argparse.ArgumentParser(prog=f"evenhand build {KIND}", description=main.__doc__)
    parser.add_argument("sources", nargs="+", type=Path, metavar="RUN|FILE", help="a run, two runs, or verdict files")
    parser.add_argument("--out", type=Path, required=True, help="the folder to build")
    for name in ("first", "second"):
        parser.add_argument(
            f"--{name}",
            metavar="FRAMING[/ARM[/VARIANT]]",
            help=f"the {name} verdict's framing, such as c2/honest (default: c1 and c2; of two runs c2 and c2)",
        )
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=["lost"], help="lost: right, then wrong (default)")
    parser.add_argument("--roles", choices=("2->1", "1->2"), default="2->1", help="of r/AIO (default: 2->1)")
    parser.add_argument("--parser", choices=sorted(PARSERS), default="strict", help="of reasoned replies")
    parser.add_argument("--root", type=Path, help="the items' folder, for files without the columns question and claim")
    parser.add_argument(
        "--allow-differences", action="store_true", help="take two runs that differ in more than the model"
    )
    return parser.parse_args(argv)
