"""Fair judges that each rewording moves a little, by all measures of a study in YAML: how often they are told Yes.

`python -m bench.simulated_framings ITEMS RUNS` prints it, with seed 7, for rewordings of SD 4, eight placebos and
five framings (300 runs with 100 items: four minutes on one core).
"""

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from bench.simulated_answers import KNOWS, NOISE, POINTS, SPREAD, STEPS
from eval.estimates.changes import scores_frame
from eval.evaluation import observed_scores
from eval.options import Options
from eval.runs import PlannedPrompt
from eval.shift.answer import Answer, answer
from studies.framing.answers import MOVED, shifts_of
from studies.framing.grids import FramedRun, Grid
from studies.framing.measures import block, shift_parts
from studies.framing.section import FramingSection
from studies.framing.verdict_files import section_of
from tests.made.framing_runs import made_grid

NAMES = ("plain", *(f"framing {i}" for i in range(5)), *(f"placebo {i}" for i in range(1, 9)))
CASES, ORDERS, ANSWERS = ("true", "false"), ("given", "swapped"), ("accept", "reject")
OPTIONS = Options(n_draws=300, seed=1)


def section_with(names: Sequence[str], answers: tuple[str, str]) -> FramingSection:
    """A study of true and false claims in both orders. answers: what is right of a true claim, and of a false one."""
    asked = [(name, case, order) for name in names for case in CASES for order in ORDERS]
    section = section_of(pd.DataFrame(asked, columns=["framing", "case", "order"]), answers)
    labels = zip(CASES, answers, strict=True)
    return section.model_copy(update={"cases": {case: {"label": label} for case, label in labels}})


SECTION = section_with(NAMES, ANSWERS)


def drawn_grid(rng: np.random.Generator, n_items: int, wording_sd: float) -> Grid:
    """What a judge accepts that knows the answers, where each framing and placebo adds its own shift, in points."""
    shape = (n_items, len(NAMES), 2, 2)
    logits = rng.normal(0, SPREAD, (n_items, 1, 2, 2)) + np.array([KNOWS, -KNOWS])[:, None]
    wordings = np.interp(rng.normal(0, wording_sd, len(NAMES)) * (np.arange(len(NAMES)) > 0), POINTS, STEPS)
    noise = rng.normal(0, NOISE, shape) * (np.arange(len(NAMES)) > 0)[:, None, None]
    value = (logits + noise + wordings[:, None, None] > 0).astype(float)
    return made_grid(value, NAMES, n_placebos=8)


def answered(rng: np.random.Generator, n_items: int, wording_sd: float) -> Answer:
    """The answer about one such judge."""
    grid = drawn_grid(rng, n_items, wording_sd)
    plan = [
        PlannedPrompt(prompt_hash=item, item_id=item, dataset="made", condition="", factors=()) for item in grid.items
    ]
    config = {"verdict": "answer", "model": {"name": "made"}}
    run = FramedRun(
        path=Path("made"), config=config, provenance={}, plan=plan, replies={}, rendered={}, section=SECTION
    )
    vars(run)["grids"] = {f"made {rng.integers(1 << 30)}": grid}  # a dataset's name seeds its draws
    wanted = {measure for pair in MOVED.values() for measure in pair}
    blocks = [
        made
        for framing in NAMES[1:]
        for part in shift_parts(SECTION, grid, framing)
        if (measures := [measure for measure in part.measures if measure.name in wanted])
        for made in block(run, framing, part._replace(measures=measures))
    ]
    scores = scores_frame(observed_scores(lambda *_: blocks, {"made": run}, OPTIONS))
    return answer(shifts_of(run, "made", scores, OPTIONS.drawing))


def verdicts(n_items: int, n_runs: int, wording_sd: float = 4.0) -> Counter[str]:
    """How often each answer is given."""
    rng = np.random.default_rng(7)
    return Counter(answered(rng, n_items, wording_sd).verdict for _ in range(n_runs))


if __name__ == "__main__":
    print(verdicts(*map(int, sys.argv[1:])))
