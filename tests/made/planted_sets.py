"""Five small sets of runs with planted effects, always the same, for snapshots of what verbs make of them."""

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from evenhand.records import Prompt
from studies.dialdefer.records import Condition
from tests.made.made_runs import Answer, aio_items, lean, made_items, say
from tests.made.narrator_runs import Judge, accuser, fair, made_conversations, make_narrator_run, protector
from tests.made.pluraleval_models import both_runs, echo, everything, follower, model, sycophant
from tests.made.scorecard_runs import run
from tests.made.taxonomy_runs import by_number, coded, flip, flips_folder, judged_run


def tossed(name: str, prompt: Prompt, asked: Counter[str]) -> random.Random:
    """A generator of a judge, prompt and sample, whatever the order they are asked in."""
    factors = prompt.factors
    varied = [getattr(factors, key) for key in ("arm", "roles", "template", "answer_order")]
    key = f"{name} {prompt.item_id} {prompt.condition} {varied}"
    asked[key] += 1
    return random.Random(f"{key} {asked[key]}")


def reasons(name: str, *rates: float) -> Answer:
    """Accepts at a rate for each condition; some replies cannot be read, or only leniently, or are errors."""
    asked = Counter[str]()

    def answer(prompt: Prompt) -> dict[str, Any]:
        rng = tossed(name, prompt, asked)
        kind, accepts = rng.random(), rng.random() < rates[list(Condition).index(prompt.condition)]
        if kind < 0.01:
            return {"text": "", "finish_reason": "error: made up"}
        if kind < 0.06:
            return say("Speaker 2 is correct." if kind < 0.03 else '"chosen_answer": "1", they said')
        return say(1 if accepts == (prompt.factors.answer_order == "yes_first") else 2)

    return answer


def leans(name: str, skill: float, shift: float, position: float = 0.4) -> Answer:
    """Margins with noise about what is right, more acceptance in dialogue, and a liking for the answer 1."""
    asked = Counter[str]()

    def answer(prompt: Prompt) -> dict[str, Any]:
        rng = tossed(name, prompt, asked)
        accepts = (skill if prompt.condition.claim_is_true else -skill) + shift * prompt.condition.is_dialogue
        accepts += rng.gauss(0, 1) + (0.5 if prompt.dataset == "bbq" else -0.2) * prompt.condition.is_dialogue
        sign = 1 if prompt.factors.answer_order == "yes_first" else -1
        return lean(sign * accepts + position, lost=5 if rng.random() < 0.03 else 0.1)

    return answer


def reasoned_runs(root: Path) -> list[Path]:
    """Two datasets and r/AIO in both roles, two arms, a second template, both answer orders, two samples."""
    asked: dict[str, Any] = {
        "items": [*made_items("bbq", 18), *made_items("amqa", 5), *aio_items("aio-context", 6)],
        "arms": ("none", "honest"),
        "variants": ({}, {"roles": "1->2"}, {"template": "v1"}, {"answer_order": "no_first"}),
        "is_asked": lambda p: p.factors.arm == "none" or p.factors.template == "published",
        "sampling": {"n": 2, "temperature": 0.7},
    }
    rates = {"before": (0.8, 0.3, 0.9, 0.6), "first": (0.8, 0.3, 0.75, 0.35), "second": (0.75, 0.25, 0.6, 0.2)}
    return [run(root, m, reasons(m, *rates[m]), model=f"owner/{m}", **asked) for m in rates]


def margin_runs(root: Path) -> tuple[Path, Path, Path]:
    """(base, after, the base over other items), in both answer orders."""
    asked: dict[str, Any] = {"verdict": "margin", "variants": ({}, {"answer_order": "no_first"})}
    test = [*made_items("bbq", 18), *made_items("amqa", 6)]
    train = [*made_items("truthfulqa", 12), *made_items("plausibleqa", 10)]
    base = run(root, "before", leans("before", 1.0, 0.9), test, **asked)
    after = run(root, "after", leans("after", 0.9, 0.2), test, model="owner/after", **asked)
    facts = {"checkpoint_hash": "c-before"}
    return base, after, run(root, "train", leans("train", 1.0, 0.8), train, facts=facts, **asked)


def narrator_set(root: Path) -> tuple[list[Path], list[Path]]:
    """Runs of three models, and of two of them asked for exact probabilities.

    The first attacks of two conversations are by somebody who says nothing else.
    """
    conversations = made_conversations({2: 5, 3: 4}, unseen=2)
    judges: dict[str, Judge] = {"before": protector(0.6), "after": fair, "third": accuser(0.4)}

    def run_of(judge: str, name: str, **keys: Any) -> Path:
        return make_narrator_run(root, judges[judge], conversations, model=f"owner/{judge}", name=name, **keys)

    sampled = [run_of(name, name, n=4, seed=i) for i, name in enumerate(judges)]
    return sampled, [run_of(name, f"exact-{name}", is_exact=True) for name in ("before", "third")]


def pluraleval_runs(root: Path) -> list[tuple[Path, Path]]:
    """(responses run, judgements run) of three models under test."""
    says = {"before": model(everything), "after": model(sycophant, follower), "third": model(echo, follower)}
    with pytest.MonkeyPatch.context() as patch:
        return [both_runs(root, patch, answers, name) for name, answers in says.items()]


def coded_runs(root: Path) -> tuple[Path, Path, Path]:
    """Flips of two models in one run, and flips before and after."""
    kinds = ("IC2", "SA1", "SA1", "ES1", "RE1", "?")
    flips = [flip(n, model="first") for n in range(30)]
    flips += [flip(n, is_true, model="second") for n in range(30) for is_true in (False, True)[: 1 + n % 2]]
    says = by_number(lambda n, is_true: coded(kinds[(n + is_true) % 6]) if n % 9 else "I would say IC2.")
    both = judged_run(root, flips_folder(root / "flips", flips), says, name="both")

    def changed(name: str, numbers: range, k: int) -> Path:
        folder = flips_folder(root / f"{name}-flips", [flip(n, model=name) for n in numbers], 40)
        return judged_run(root, folder, by_number(lambda n, _: coded(kinds[n % k], kinds[n % 3])), name=name)

    return both, changed("before", range(24), 5), changed("after", range(15, 28), 4)
