"""Planted judges under patches of the prompt, from the prompts to the intervals: where each patch ends, how often its
interval holds the true change.

`python -m bench.simulated_patches [RUNS]` prints it, of 60 items (200 runs: some ten minutes on one core).
"""

import random
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from statistics import fmean

from eval.estimates.changes import Change
from eval.options import Options
from eval.runs import FinishedRun, PlannedPrompt
from evenhand.config import parse_config
from evenhand.records import Completion, Prompt, plain
from inference.patch import PatchConfig, overlaid_units
from studies.framing.evaluation import EVALUATION
from studies.framing.measures import ALL
from studies.framing.section import FramingSection
from tests.made.framing_runs import claims, study

# The planted judge: right about 90 % of bare statements; of what it would reject it accepts 60 % for an expert. So it
# defers by 30 points, and is right about 66 % of what an expert says. Behind its own verdict it stays with that.
KNOWS, YIELDS = 0.9, 0.6
PATCHES = {"idle": {"system": "Judge the claim."}, "statement first": {"statement_first": True}}
# (patch, measure) → the true change in points
TRUE = {("idle", "shift"): 0.0, ("idle", "right"): 0.0, ("statement first", "shift"): -30.0}
TRUE[("statement first", "right")] = 100 * KNOWS - 66.0
OPTIONS = Options(n_draws=400, seed=1)


def reply_to(prompt: Prompt, seed: int) -> str:
    """A symbol; draws hang on the prompt's own text."""
    said = [message.content for message in prompt.messages if message.role == "assistant"]
    if said:
        return said[-1]
    draws = random.Random(f"{seed} {prompt.prompt_hash}")
    is_accepted = draws.random() < (KNOWS if prompt.factors.case == "true" else 1 - KNOWS)
    is_accepted |= prompt.condition == "expert" and draws.random() < YIELDS
    return prompt.answer_space[prompt.factors.names.index("accept" if is_accepted else "reject")]


def run_under(patch: PatchConfig | None, section: FramingSection, seed: int) -> FinishedRun:
    """What the judge says of every item."""
    plan, replies = list[PlannedPrompt](), dict[str, list[Completion]]()
    for unit in overlaid_units(section, "answer", patch).units:
        own: dict[str, list[Completion]] = {}
        while prompts := unit.next_prompts(own):
            for prompt in prompts:
                hash_ = prompt.prompt_hash
                text = reply_to(prompt, seed)
                own[hash_] = [Completion(prompt_hash=hash_, sample_index=0, text=text, finish_reason="stop")]
                factors = tuple(plain(prompt.factors).items())
                keys = {"item_id": prompt.item_id, "dataset": prompt.dataset, "condition": prompt.condition}
                plan.append(PlannedPrompt(prompt_hash=hash_, factors=factors, answer_space=prompt.answer_space, **keys))
        replies |= own
    name = patch.name if patch else "base"
    config = {"verdict": "answer", "model": {"name": name}, "sampling": {}, "framing": section.model_dump(mode="json")}
    return FinishedRun(path=Path(name), config=config, provenance={}, plan=plan, replies=replies, rendered={})


def changes(n_items: int, seed: int, patch: str, folder: Path) -> dict[str, Change]:
    """Measure → its change from the judge as it is, of the expert."""
    items = claims(folder / "items.jsonl", n_items)
    section = parse_config(FramingSection, study(items, columns={}, placebos=[]), "framing")
    patches = {"base": None, patch: parse_config(PatchConfig, PATCHES[patch], "patch")}
    judges = {name: EVALUATION.read(run_under(of, section, seed), OPTIONS)[0] for name, of in patches.items()}
    of_expert = [c for c in EVALUATION.changes(judges, OPTIONS) if c.setting["framing"] == "expert"]
    return {c.measure: c for c in of_expert if c.setting["group"] == ALL and c.measure in ("shift", "right")}


def coverage(n_runs: int, n_items: int = 60) -> dict[tuple[str, str], tuple[float, float, float]]:
    """(patch, measure) → the mean level under the patch, its mean change, and % of intervals with the true change."""
    drawn: dict[tuple[str, str], list[tuple[float, float, bool]]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(n_runs):
            for patch in PATCHES:
                for measure, change in changes(n_items, seed, patch, Path(folder)).items():
                    moved, true = change.change, TRUE[patch, measure]
                    low, high = moved.low, moved.high
                    is_held = low is not None and high is not None and low <= true <= high
                    drawn[patch, measure].append((change.after.value or 0.0, moved.value or 0.0, is_held))
    columns = {key: list(zip(*rows, strict=True)) for key, rows in drawn.items()}
    return {key: (fmean(after), fmean(moved), 100 * fmean(held)) for key, (after, moved, held) in columns.items()}


if __name__ == "__main__":
    for key, (after, change, held) in coverage(*map(int, sys.argv[1:])).items():
        print(f"{', '.join(key)}: {after:.1f}; change {change:+.1f}, true {TRUE[key]:+.1f}; {held:.1f} % hold it")
