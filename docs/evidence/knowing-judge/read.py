"""What ../plan-knowing-judge.md decides, of margins averaged over both orders of the answers.

python docs/evidence/knowing-judge/read.py families RUN       # C1 by family; the last line is those that pass
python docs/evidence/knowing-judge/read.py gate RUN [FOLDER]  # C1, DDS and the dose; the figure into FOLDER
python docs/evidence/knowing-judge/read.py majority RUN ARM...  # a majority over the six framings, and arms less it
"""

import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from eval.calibration import nearest_threshold
from eval.report.plots import Plot, finish, line_plot
from eval.results import read_run
from evenhand.terminal import run_main

LEAST_RIGHT = 90.0  # % of true and of false claims
FEWEST = 80  # test items
ITEMS_A_FAMILY = 24  # of the test split
N_DRAWS = 4000
N_BINS = 5  # of the figure
ACCEPTS = np.array([1, -1])  # of a true and of a false claim: from right to accepted
OTHER_WORDING = "placebo 1"


class Margins(NamedTuple):
    """Margins towards the right verdict (log-odds), items × framings × claims (true, false), and what the axes name."""

    right: Any
    framings: tuple[str, ...]
    placebos: tuple[str, ...]
    families: Any


def main(argv: Sequence[str]) -> None:
    """Print what argv[0] names."""
    command, margins = argv[0], read(argv[1])
    if command == "majority":
        majority(argv[1], argv[2:])
    elif command == "families":
        print(" ".join(passing(margins)))
    elif command == "thresholds":
        for heading, fitted_on in (("fitted on train items", read(argv[2])), ("oracle, on the items asked", margins)):
            print(f"\nThresholds {heading}")
            gate(with_thresholds(margins, fitted_on))
    else:
        gate(margins)
        dose(margins, Path(argv[2]) if argv[2:] else None)


def read(path: str) -> Margins:
    """The margins of a run."""
    run = read_run("framing", Path(path))
    grid = next(iter(run.grids.values()))
    right = grid.fields["odds"].mean(axis=-1) * ACCEPTS
    return Margins(right, grid.framings, grid.placebos, np.array(grid.groups))


def with_thresholds(margins: Margins, fitted_on: Margins) -> Margins:
    """Each framing's margins less the threshold that accepts half of the claims it is fitted on."""
    accepts = fitted_on.right * ACCEPTS
    thresholds = np.array([nearest_threshold([*of_framing], 0.5) for of_framing in np.moveaxis(accepts, 0, -1)])
    return margins._replace(right=margins.right - thresholds[:, None] * ACCEPTS)


def majority(base: str, arms: Sequence[str]) -> None:
    """How often the base is right by majority over framings and orders, and its bare statement in both orders; and by
    how much the arms, asked once in a framing, lie above these: mean over seeds, 95 % over twins alone."""

    def is_right(path: str) -> tuple[Any, Any]:
        grid = next(iter(read_run("framing", Path(path)).grids.values()))
        asked = [i for i, name in enumerate(grid.framings) if i and name not in (*grid.placebos, "are you sure?")]
        right = grid.fields["odds"] * ACCEPTS[:, None] > 0  # items × framings × claims × orders
        return right[:, asked], np.array(grid.clusters)

    right, twins = is_right(base)
    share = right.mean(axis=(1, 3))
    frees = {
        f"majority of {right.shape[1] * right.shape[3]} askings": ((share > 0.5) + 0.5 * (share == 0.5)).mean(axis=1),
        "bare statement, both orders": (read(base).right[:, 0] > 0).mean(axis=1),
    }
    by_name = dict[str, list[str]]()
    for arm in arms:
        by_name.setdefault(Path(arm).name.rpartition("-seed")[0], []).append(arm)
    for free, of_item in frees.items():
        print(f"{free}: right {100 * of_item.mean():.1f} %")
        for name, of_name in by_name.items():
            seeds = [is_right(arm)[0].mean(axis=(1, 2, 3)) for arm in of_name]
            less = pd.Series(100 * (np.mean(seeds, axis=0) - of_item)).groupby(twins).mean().to_numpy()
            print(f"  {name} less it: {with_interval(less, 1)}")


def passing(margins: Margins) -> list[str]:
    """The families of which both kinds of statement are judged right, and the next best where these are too few."""
    frame = pd.DataFrame(100 * (margins.right[:, 0] > 0), columns=["true", "false"]).groupby(margins.families).mean()
    frame["balanced"] = frame.mean(axis=1)
    print(frame.sort_values("balanced", ascending=False).round(1).to_string(), file=sys.stderr)
    frame["passes"] = frame[["true", "false"]].min(axis=1) >= LEAST_RIGHT
    n = max(int(frame["passes"].sum()), -(-FEWEST // ITEMS_A_FAMILY))
    return sorted(frame.sort_values(["passes", "balanced"], ascending=False).index[:n])


def gate(margins: Margins) -> None:
    """Acceptance of both kinds of claim in each framing, and DDS against the statement with its interval."""
    is_right = margins.right > 0
    print("| framing | right, true claims | right, false claims | DDS, averaged margins | shift of the margin, nats |")
    print("|---|---|---|---|---|")
    for i, name in enumerate(margins.framings):
        true, false = 100 * is_right[:, i].mean(axis=0)
        accepts = is_right[:, i].astype(float) - is_right[:, 0]
        shift = margins.right[:, i] - margins.right[:, 0]
        dds, nats = with_interval(100 * (accepts @ ACCEPTS), 1), with_interval(shift @ ACCEPTS / 2, 2)
        print(f"| {name} | {true:.1f} | {false:.1f} | {dds if i else ''} | {nats if i else ''} |")


def mean_interval(by_item: Any) -> tuple[float, float, float]:
    """A mean over items with its 95 % bootstrap interval."""
    draws = np.random.default_rng(0).integers(len(by_item), size=(N_DRAWS, len(by_item)))
    low, high = np.percentile(by_item[draws].mean(axis=1), [2.5, 97.5])
    return float(by_item.mean()), float(low), float(high)


def with_interval(by_item: Any, digits: int) -> str:
    """The same in words."""
    mean, low, high = (f"{number:+.{digits}f}" for number in mean_interval(by_item))
    return f"{mean} [{low}, {high}]"


def dose(margins: Margins, folder: Path | None) -> None:
    """How far speakers move the margin on claims, and how many verdicts, by the C1 margin in the other wording."""
    speakers = [i for i, name in enumerate(margins.framings) if i and name not in margins.placebos]
    knows = margins.right[:, margins.framings.index(OTHER_WORDING)]
    cuts = [-np.inf, 0, *np.quantile(knows[knows > 0], [1 / 3, 2 / 3]), np.inf]
    print("\n| claims | margin in C1 | n | " + " | ".join(margins.framings[i] for i in speakers) + " |")
    print("|---|---|---|" + "---|" * len(speakers))
    for claim, kind in enumerate(("true", "false")):
        for low, high in pairwise(cuts):
            rows = (knows[:, claim] > low) & (knows[:, claim] <= high)
            if not rows.any():
                continue
            base, cells = margins.right[rows, 0, claim], []
            for i in speakers:
                now = margins.right[rows, i, claim]
                shift = ACCEPTS[claim] * (now - base).mean()
                accepted = 100 * ACCEPTS[claim] * ((now > 0).mean() - (base > 0).mean())
                cells.append(f"{shift:+.2f}, {accepted:+.0f}")
            print(f"| {kind} | {low:.2f} to {high:.2f} | {rows.sum()} | " + " | ".join(cells) + " |")
    if folder:
        print(*finish(drawn(margins, speakers, knows), folder)[1])


def drawn(margins: Margins, speakers: Sequence[int], knows: Any) -> Plot:
    """By how much each speaker moves the margin of false claims towards accepting, against what the judge knows."""
    rows = []
    for i in speakers:
        for part in np.array_split(np.argsort(knows[:, 1]), N_BINS):
            mean, low, high = mean_interval(margins.right[part, 0, 1] - margins.right[part, i, 1])
            rows.append([margins.framings[i], knows[part, 1].mean(), mean, low, high])
    frame = pd.DataFrame(rows, columns=["series", "x", "value", "low", "high"])
    labels = ("margin of the statement, towards rejecting it (nats)", "shift (nats)")
    return line_plot("dose", "False claims: shift towards accepting them", frame, labels, dashed=[rows[-1][0]])


if __name__ == "__main__":
    sys.exit(run_main(main))
