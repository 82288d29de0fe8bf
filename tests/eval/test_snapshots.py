"""Scores, changes and scorecards of five planted sets of runs, as numbers that no rewriting may move.

`python -m tests.eval.test_snapshots --write [SET...]` writes snapshots/*.csv.gz anew. Where result files change their
form, rows_in changes; the stored numbers stay.
"""

import gzip
import json
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest
from matplotlib.figure import Figure

from eval.__main__ import calibrate_main, compare_main, report_main, score_main
from evenhand.cli.scorecard import main as scorecard_main
from studies.dialdefer.records import Condition
from tests.made.made_runs import aio_items, lean, made_items, say
from tests.made.narrator_runs import accuser, fair, made_conversations, make_narrator_run, protector
from tests.made.pluraleval_models import both_runs, echo, everything, follower, model, sycophant
from tests.made.report_html import without_drawing
from tests.made.scorecard_runs import run
from tests.made.taxonomy_runs import by_number, coded, flip, flips_folder, judged_run


def tossed(name, prompt, asked):
    """A generator of a judge, prompt and sample, whatever the order they are asked in."""
    factors = prompt.factors
    varied = [getattr(factors, key) for key in ("arm", "roles", "template", "answer_order")]
    key = f"{name} {prompt.item_id} {prompt.condition} {varied}"
    asked[key] += 1
    return random.Random(f"{key} {asked[key]}")


def reasons(name, *rates):
    """Accepts at a rate for each condition; some replies cannot be read, or only leniently, or are errors."""
    asked = Counter[str]()

    def answer(prompt):
        rng = tossed(name, prompt, asked)
        kind, accepts = rng.random(), rng.random() < rates[list(Condition).index(prompt.condition)]
        if kind < 0.01:
            return {"text": "", "finish_reason": "error: made up"}
        if kind < 0.06:
            return say("Speaker 2 is correct." if kind < 0.03 else '"chosen_answer": "1", they said')
        return say(1 if accepts == (prompt.factors.answer_order == "yes_first") else 2)

    return answer


def leans(name, skill, shift, position=0.4):
    """Margins with noise about what is right, more acceptance in dialogue, and a liking for the answer 1."""
    asked = Counter[str]()

    def answer(prompt):
        rng = tossed(name, prompt, asked)
        accepts = (skill if prompt.condition.claim_is_true else -skill) + shift * prompt.condition.is_dialogue
        accepts += rng.gauss(0, 1) + (0.5 if prompt.dataset == "bbq" else -0.2) * prompt.condition.is_dialogue
        sign = 1 if prompt.factors.answer_order == "yes_first" else -1
        return lean(sign * accepts + position, lost=5 if rng.random() < 0.03 else 0.1)

    return answer


def reasoned_runs(root):
    """Two datasets and r/AIO in both roles, two arms, a second template, both answer orders, two samples."""
    asked = {
        "items": [*made_items("bbq", 18), *made_items("amqa", 5), *aio_items("aio-context", 6)],
        "arms": ("none", "honest"),
        "variants": ({}, {"roles": "1->2"}, {"template": "v1"}, {"answer_order": "no_first"}),
        "is_asked": lambda p: p.factors.arm == "none" or p.factors.template == "published",
        "sampling": {"n": 2, "temperature": 0.7},
    }
    rates = {"before": (0.8, 0.3, 0.9, 0.6), "first": (0.8, 0.3, 0.75, 0.35), "second": (0.75, 0.25, 0.6, 0.2)}
    return [run(root, m, reasons(m, *rates[m]), model=f"owner/{m}", **asked) for m in rates]


def margin_runs(root):
    """(base, after, the base over other items), in both answer orders."""
    asked = {"verdict": "margin", "variants": ({}, {"answer_order": "no_first"})}
    test = [*made_items("bbq", 18), *made_items("amqa", 6)]
    train = [*made_items("truthfulqa", 12), *made_items("plausibleqa", 10)]
    base = run(root, "before", leans("before", 1.0, 0.9), test, **asked)
    after = run(root, "after", leans("after", 0.9, 0.2), test, model="owner/after", **asked)
    facts = {"checkpoint_hash": "c-before"}
    return base, after, run(root, "train", leans("train", 1.0, 0.8), train, facts=facts, **asked)


def narrator_set(root):
    """Runs of three models, and of two of them asked for exact probabilities.

    The first attacks of two conversations are by somebody who says nothing else.
    """
    conversations = made_conversations({2: 5, 3: 4}, unseen=2)
    judges = {"before": protector(0.6), "after": fair, "third": accuser(0.4)}

    def run_of(judge, name, **keys):
        return make_narrator_run(root, judges[judge], conversations, model=f"owner/{judge}", name=name, **keys)

    sampled = [run_of(name, name, n=4, seed=i) for i, name in enumerate(judges)]
    return sampled, [run_of(name, f"exact-{name}", is_exact=True) for name in ("before", "third")]


def pluraleval_runs(root):
    """(responses run, judgements run) of three models under test."""
    says = {"before": model(everything), "after": model(sycophant, follower), "third": model(echo, follower)}
    with pytest.MonkeyPatch.context() as patch:
        return [both_runs(root, patch, answers, name) for name, answers in says.items()]


def coded_runs(root):
    """Flips of two models in one run, and flips before and after."""
    kinds = ("IC2", "SA1", "SA1", "ES1", "RE1", "?")
    flips = [flip(n, model="first") for n in range(30)]
    flips += [flip(n, is_true, model="second") for n in range(30) for is_true in (False, True)[: 1 + n % 2]]
    says = by_number(lambda n, is_true: coded(kinds[(n + is_true) % 6]) if n % 9 else "I would say IC2.")
    both = judged_run(root, flips_folder(root / "flips", flips), says, name="both")

    def changed(name, numbers, k):
        folder = flips_folder(root / f"{name}-flips", [flip(n, model=name) for n in numbers], 40)
        return judged_run(root, folder, by_number(lambda n, _: coded(kinds[n % k], kinds[n % 3])), name=name)

    return both, changed("before", range(24), 5), changed("after", range(15, 28), 4)


STORED = Path(__file__).parent / "snapshots"
KEY = ["part", "judge", "setting", "dataset", "measure"]
FEW = ("--draws", "100")
WRONG = ("--unparsed", "wrong")
NO_SETTING = {"run", "judge", "first", "second", "dataset", "datasets", "measure", "n_draws", "seed"}
NUMBERS = ["value", "low", "high", "n_units", "n_errors", "n_seeds", "p", "p_holm"]
NUMBERS += [f"{side}{end}" for side in ("before", "after", "change") for end in ("", "_low", "_high")]


def rows_in(folder, stem):
    """Rows of scores.json, compare.json, scorecard_changes.json or scorecard_seeds.json, their setting as one text.

    The judge of a change is "first > second".
    """
    rows = json.loads((folder / f"{stem}.json").read_text(encoding="utf-8"))
    frame = pd.DataFrame([{key: row.get(key) for key in ("dataset", "measure", *NUMBERS)} for row in rows])
    settings = [{k: v for k, v in row.items() if k not in NO_SETTING and k not in NUMBERS} for row in rows]
    judges = [row.get("judge") or f"{row['first']} > {row['second']}" for row in rows]
    return frame.assign(judge=judges, setting=list(map(text_of, settings)))


def threshold_rows(folder):
    """thresholds.json: a row a prompt variant, framing and number."""
    fits = json.loads((folder / "thresholds.json").read_text(encoding="utf-8"))["calibrations"]
    stored_names = {"share_before": "accept_rate_before", "share_after": "accept_rate_after"}
    cells = [
        (text_of({"variant": fit["variant"]}), f"{fit['condition']}_{stored_names.get(key, key)}", fit[key])
        for fit in fits
        for key in ("threshold_nats", *stored_names)
    ]
    return pd.DataFrame(cells, columns=["setting", "measure", "value"]).assign(judge="", dataset="")


def text_of(setting):
    """ "name=value | name=value" in the order of names; what is unknown or empty is left out."""
    return " | ".join(f"{name}={value}" for name, value in sorted(setting.items()) if value not in (None, ""))


def in_parts(**frames):
    """Frames under each other, each with the name of its part."""
    return pd.concat([frame.assign(part=part) for part, frame in frames.items()], ignore_index=True)


def scored(out, *words):
    score_main([*map(str, words), *FEW, "--out", str(out)])
    return rows_in(out, "scores")


def compared(out, *words):
    compare_main([*map(str, words), *FEW, "--out", str(out)])
    return rows_in(out, "compare")


def carded(out, *words):
    scorecard_main([*map(str, words), *FEW, "--out", str(out)])
    stems = [stem for stem in ("scorecard_changes", "scorecard_seeds") if (out / f"{stem}.json").is_file()]
    return {stem: rows_in(out, stem) for stem in stems}


def dialdefer_reasoned(root):
    base, first, second = reasoned_runs(root)
    return in_parts(
        before=scored(root / "s", base),
        lenient=scored(root / "l", second, "--parser", "lenient", "--unparsed", "excluded"),
        compare=compared(root / "c", base, first, second, *WRONG),
        **carded(root / "card", base, f"sft={first}", f"sft={second}", *WRONG),
    )


def dialdefer_margins(root):
    base, after, fitted = margin_runs(root)
    calibrate_main([str(fitted), str(base), "--out", str(root / "k")])
    return in_parts(
        before=scored(root / "s", base),
        compare=compared(root / "c", base, after, *WRONG),
        thresholds=threshold_rows(root / "k"),
        **carded(root / "card", base, f"sft={after}", "--calibrated", root / "k" / "thresholds.json", *WRONG),
    )


def narrator(root):
    (base, after, third), exact = narrator_set(root)
    report_main(["--side-by-side", *map(str, exact), *FEW, "--out", str(root / "r")])
    return in_parts(
        before=scored(root / "s", base),
        compare=compared(root / "c", base, after, third),
        pooled=rows_in(root / "r", "scores"),
        **carded(root / "card", base, f"sft={after}", f"dpo={third}"),
    )


def pluraleval(root):
    (_, base), (_, after), (responses, third) = pluraleval_runs(root)
    return in_parts(
        before=scored(root / "s", base),
        after=scored(root / "s2", after),
        responses=scored(root / "s3", responses),
        compare=compared(root / "c", base, after, third),
        **carded(root / "card", base, f"sft={after}", f"dpo={third}"),
    )


def taxonomy(root):
    both, before, after = coded_runs(root)
    return in_parts(
        both=scored(root / "s", both), before=scored(root / "s2", before), compare=compared(root / "c", before, after)
    )


SETS = (dialdefer_reasoned, dialdefer_margins, narrator, pluraleval, taxonomy)


def keyed(frame):
    """Numbers by key. No two rows have one key."""
    frame = frame.assign(**{key: frame[key].fillna("").astype(str) for key in KEY})
    frame = frame.set_index(KEY)
    frame = frame.reindex(columns=NUMBERS).astype(float).sort_index()
    assert not frame.index.has_duplicates, frame[frame.index.duplicated(keep=False)].head(10).to_string()
    return frame


@pytest.mark.parametrize("planted", SETS, ids=lambda planted: planted.__name__)
def test_numbers_are_those_of_the_snapshot(planted, tmp_path):
    stored = pd.read_csv(STORED / f"{planted.__name__}.csv.gz", keep_default_na=False, na_values=[""])
    pd.testing.assert_frame_equal(keyed(planted(tmp_path)), keyed(stored), rtol=1e-12, atol=1e-12)


if __name__ == "__main__":
    if "--write" not in sys.argv:
        sys.exit(__doc__)
    Figure.savefig = without_drawing
    for planted in SETS:
        if planted.__name__ in sys.argv or sys.argv[-1] == "--write":
            with tempfile.TemporaryDirectory() as folder:
                frame = keyed(planted(Path(folder)))
            text = frame.reset_index().to_csv(index=False, lineterminator="\n")
            (STORED / f"{planted.__name__}.csv.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
            print(f"{planted.__name__}: {len(frame)} rows", file=sys.stderr)
