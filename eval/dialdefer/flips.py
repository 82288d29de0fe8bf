"""`evenhand build flips`: the claims that a judge decided differently, with its reasons, as a folder to ask about."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from eval.dialdefer.flip_examples import WITHHELD
from eval.dialdefer.measures import ACCEPT, C1, C2, CONDITIONS, ERROR, PARSERS, UNREADABLE, majority, reasoning_in
from eval.dialdefer.panels import BOTH_ORDERS, Judge, Panel, refuse_unequal_items, variant_of
from eval.dialdefer.runs import JudgedRun, item_texts, load_run
from eval.dialdefer.verdict_files import LAYOUT, load_external, own_id
from eval.estimates.comparability import differences, refuse_serious, say_differences
from eval.runs import is_verdict_file, judge_names
from eval.verdict_files import Column, Layout, read_frames
from evenhand.errors import DataError
from evenhand.sources.fetching import locked
from evenhand.terminal import say
from studies.built_folder import refuse_foreign
from studies.dialdefer.datasets import DatasetSpec, load_items
from studies.dialdefer.records import Item
from studies.dialdefer.render import AIO_DATASETS, aio_judgment, relabel
from studies.flips import FLIPS_FILE, KIND, LENIENT, Flip, FlipSide, write_flips

KINDS = ("lost", "gained")
WORDS = {"c1": "a bare statement", "c2": "a speaker's turn"}
COLUMNS = {"c1": C1, "c2": C2}  # the true claim's, then the false one's
TEXT_COLUMNS = ("reason", "response", "question", "claim")  # of files; what is judged beside the verdict
KEY_COLUMNS = (*LAYOUT.required, "arm", "roles")

# Panel, row, column and verdict → the question, the claim that answers it, and what was written for that verdict; ""
# where a text is not known.
Texts = Callable[[Panel, int, int, int], tuple[str, str, str]]
Source = tuple[str, Sequence[Panel], Texts]  # one model's verdicts


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Side:
    """One model's verdicts in one framing."""

    model: str
    words: str  # how the claim was put: "a speaker's turn, arm honest"
    columns: Sequence[int]  # of the true claim, and of the false one
    panels: Mapping[str, Panel]  # dataset → its panel
    texts: Texts


def main(argv: Sequence[str]) -> None:
    """Find the claims that a judge decided differently in two framings of a run (C1 and C2 by default), or of two runs
    before and after training; or of each model in files of verdicts. Null verdicts are never flips."""
    options = build_options(argv)
    refuse_foreign(options.out)
    pairs = sides_of_files(options) if is_verdict_file(options.sources[0]) else [sides_of_runs(options)]
    models = [flips_between(first, second, options.kinds) for first, second in pairs]
    facts = {
        "source": [path.name for path in options.sources],
        "framings": [side.words for side in pairs[0]],
        "kinds": options.kinds,
        "models": [of["model"] for of in models],
        "n_flips": {of["model"]: len(of["flips"]) for of in models},
        **{key: {of["model"]: of[key] for of in models} for key in ("items", "undecided", "n_errors")},
    }
    with locked(options.out, f"build {KIND}"):
        write_flips(options.out, (flip for of in models for flip in of["flips"]), facts)
    for of in models:
        say(summary(**of))
    say(f"{options.out / FLIPS_FILE}: done. It holds texts of the items: keep it where you keep them.")


def summary(
    model: str, flips: Sequence[Flip], items: Mapping[str, Any], undecided: Mapping[str, Any], n_errors: int
) -> str:
    """What was found of one model, and what to know of it."""
    n, n_lenient = len(flips), sum(flip.direction == LENIENT for flip in flips)
    n_items, n_undecided = (sum(map(len, by_dataset.values())) for by_dataset in (items, undecided))
    words = (
        f"{model}: {n} flips ({n_lenient} accept the second time, {n - n_lenient} reject) of {n_items} items; "
        f"{n_undecided} claims without a verdict on both sides, {n_errors} items lost to engine errors."
    )
    if n_mute := sum(not (flip.first.reason and flip.second.reason) for flip in flips):
        words += f"\n  Warning: {n_mute} flips lack a reason on one side or both; these cannot be coded."
    if n_bare := sum(not flip.claim for flip in flips):
        words += f"\n  Warning: {n_bare} flips lack question and claim: the items are not at hand, or have changed."
    return words


def sides_of_runs(options: argparse.Namespace) -> tuple[Side, Side]:
    """Two framings within one run, or one in two runs: before and after."""
    runs = [load_run(path, options.parser) for path in options.sources]
    if len(runs) > 2:
        raise DataError(f"{options.sources[2]}: name one run, or two: before and after training")
    names = judge_names([run.judge for run in runs], [run.name for run in runs])
    if len(runs) == 1:
        return framings_of(options, run_source(runs[0], names[0]))
    differing = differences(runs[0], runs[1])
    if not options.allow_differences:
        refuse_serious(names[0], {names[1]: differing})
    say_differences(differing)
    before, after = run_source(runs[0], names[0]), run_source(runs[1], " → ".join(names))
    return (
        side_of(before, options.first or "c2", options.roles, "before"),
        side_of(after, options.second or "c2", options.roles, "after"),
    )


def sides_of_files(options: argparse.Namespace) -> list[tuple[Side, Side]]:
    """Two framings of each model in files of verdicts taken together."""
    judges = load_external(options.sources, options.parser).judges
    given = texts_in(options.sources)
    datasets = {panel.dataset for judge in judges for panel in judge.panels}
    specs = [DatasetSpec(dataset=dataset, root=options.root) for dataset in sorted(datasets)] if options.root else []
    items = {item.item_id: item for item in load_items(specs)}

    def source(judge: Judge) -> Source:
        def texts(panel: Panel, row: int, column: int, choice: int) -> tuple[str, str, str]:
            item_id, condition = panel.item_ids[row], CONDITIONS[column]
            cells = given.get((judge.model, panel.dataset, item_id, str(condition), panel.factors.arm, panel.roles), {})
            question, claim = asked_of(items.get(item_id), panel, condition.claim_is_true)
            reason = cells.get("reason", "").strip() or reasoning_in(cells.get("response", ""))
            return cells.get("question", "") or question, cells.get("claim", "") or claim, reason

        return judge.model, judge.panels, texts

    return [framings_of(options, source(judge)) for judge in judges]


def framings_of(options: argparse.Namespace, source: Source) -> tuple[Side, Side]:
    """Two framings of one model."""
    first, second = (side_of(source, text, options.roles) for text in (options.first or "c1", options.second or "c2"))
    return first, second


def side_of(source: Source, text: str, roles: str, when: str = "") -> Side:
    """A framing as the command line names it, "c1", "c2/honest", "c2/none/v1". when: "before" or "after", of two runs.

    Raises DataError for an unknown framing, and where no dataset was asked so, or one twice.
    """
    name, *rest = text.split("/")
    if name not in WORDS or len(rest) > 2:
        raise DataError(f"framing '{text}': write c1 or c2, or with an arm and a prompt variant c2/honest, c2/none/v1")
    arm, variant = [*rest, *("none", "")[len(rest) :]]
    words = ", ".join(filter(None, [WORDS[name], f"arm {arm}" if arm != "none" else "", variant, when]))
    model, every, texts = source
    single = [p for p in every if p.factors.answer_order != BOTH_ORDERS]
    panels: dict[str, Panel] = {}
    for panel in single:
        is_asked = panel.has_c1 if name == "c1" else panel.has_c2
        if is_asked and (panel.factors.arm, panel.roles, variant_of(panel, single)) == (arm, roles, variant):
            if panel.dataset in panels:
                raise DataError(f"{model}: {panel.dataset} was judged twice as {words}")
            panels[panel.dataset] = panel
    if not panels:
        arms = ", ".join(dict.fromkeys(panel.factors.arm for panel in single))
        raise DataError(f"{model}: no dataset was judged as {words} (arms: {arms})")
    return Side(model=model, words=words, columns=COLUMNS[name], panels=panels, texts=texts)


def flips_between(first: Side, second: Side, kinds: Sequence[str]) -> dict[str, Any]:
    """The flips from one side to the other over the same items, and in what they were looked for: dataset → `items`,
    without the n_errors lost to engine errors, and `undecided`, [item, whether the claim is true] of claims without a
    verdict on both sides, which are never a flip.

    kinds: "lost" is a right verdict that becomes the wrong one, which is what the paper calls a flip; "gained" the
    reverse. Of several samples the majority counts.
    """
    flips, items, undecided, n_errors = list[Flip](), {}, dict[str, list[tuple[str, bool]]](), 0
    for dataset, before in first.panels.items():
        if (after := second.panels.get(dataset)) is None:
            continue
        refuse_unequal_items(f"{dataset}, {first.words} against {second.words}", before, after)
        sides = [(first, before), (second, after)]
        answered = [(p.replies[:, s.columns] != ERROR).any(axis=2).all(axis=1) for s, p in sides]
        rows = np.flatnonzero(answered[0] & answered[1]).tolist()
        n_errors += len(before.item_ids) - len(rows)
        items[dataset] = [before.item_ids[row] for row in rows]
        verdicts = [majority(panel.replies)[:, side.columns] for side, panel in sides]
        for claim, row in product((0, 1), rows):
            item_id, claim_is_true = before.item_ids[row], claim == 0
            choices = [int(of_side[row, claim]) for of_side in verdicts]
            if min(choices) <= UNREADABLE:
                undecided.setdefault(dataset, []).append((item_id, claim_is_true))
            elif choices[0] != choices[1]:
                texts = [s.texts(p, row, s.columns[claim], c) for (s, p), c in zip(sides, choices, strict=True)]
                once, then = (
                    FlipSide(framing=side.words, accepts=choice == ACCEPT, reason=whole(reason))
                    for (side, _), choice, (_, _, reason) in zip(sides, choices, texts, strict=True)
                )
                asked: dict[str, Any] = {"question": whole(texts[0][0]), "claim": whole(texts[0][1])}
                known: dict[str, Any] = {"dataset": dataset, "item_id": item_id, "claim_is_true": claim_is_true}
                known |= {"is_withheld": dataset in WITHHELD, "first": once, "second": then}
                flips.append(Flip(model=second.model, **known, **asked))
    if not items:
        raise DataError(f"{second.model}: no dataset was judged both as {first.words} and as {second.words}")
    flips = [flip for flip in flips if ("lost" if flip.is_loss else "gained") in kinds]
    return {"model": second.model, "flips": flips, "items": items, "undecided": undecided, "n_errors": n_errors}


def whole(text: str) -> str:
    """A text without half surrogate pairs, which JSON can spell and no file takes."""
    return text.encode("utf-8", "replace").decode()


def run_source(run: JudgedRun, model: str) -> Source:
    """A run's. Of several samples the first that has the verdict gives the reason; margins have none."""
    replies: dict[tuple[str, int | None], str] = {}
    for verdict in run.verdicts if run.reading.mode == "reason" else ():
        replies.setdefault((verdict.prompt_hash, verdict.choice), verdict.text)
    items = item_texts(run)

    def texts(panel: Panel, row: int, column: int, choice: int) -> tuple[str, str, str]:
        question, claim = asked_of(items.get(panel.item_ids[row]), panel, CONDITIONS[column].claim_is_true)
        return question, claim, reasoning_in(replies.get((str(panel.hashes[row, column]), choice), ""))

    return model, run.panels, texts


def asked_of(item: Item | None, panel: Panel, claim_is_true: bool) -> tuple[str, str]:
    """The question and the claim of an item; r/AIO's question is what happened."""
    if item is None:
        return "", ""
    if item.dataset not in AIO_DATASETS:
        return item.question, item.correct_answer if claim_is_true else item.incorrect_answer
    labels = (panel.factors.speaker1, panel.factors.speaker2)
    _, judgee, judgment = aio_judgment(item, claim_is_true, labels, panel.roles)
    parts = [item.context or "", str(item.meta["dialogue"] or "") if item.dataset == "aio" else ""]
    return relabel("\n\n".join(part for part in parts if part), labels), f"{judgee} is {judgment}."


def texts_in(paths: Sequence[Path]) -> dict[tuple[str, ...], dict[str, str]]:
    """Key of each row → its texts. The rows were checked when the verdicts were read."""
    columns = {name: LAYOUT.columns[name] for name in KEY_COLUMNS} | {name: Column("") for name in TEXT_COLUMNS}
    texts_of_key = {}
    for path in paths:
        for frame, _ in read_frames(path, Layout(columns=columns)):
            keys = zip(*(frame[name] for name in KEY_COLUMNS), strict=True)
            for key, texts in zip(keys, frame[list(TEXT_COLUMNS)].to_dict("records"), strict=True):
                model, dataset, item_id, *case = key
                if texts := {name: text for name, text in texts.items() if isinstance(text, str)}:
                    texts_of_key[model, dataset, own_id(dataset, item_id), *map(str, case)] = texts
    return texts_of_key


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
