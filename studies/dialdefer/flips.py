"""Claims that a judge decided differently: among all verdicts in a report's browser of items, and `evenhand build
flips`, which writes them with the judge's reasons as a folder to ask about."""

import argparse
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from eval.estimates.comparability import check_comparable, difference_lines, differences
from eval.runs import judge_names
from evenhand.errors import DataError
from evenhand.lease import locked
from evenhand.terminal import command_parser, say
from studies.built_folder import check_buildable
from studies.dialdefer import measures, panels
from studies.dialdefer.records import Condition, Factors, Item
from studies.dialdefer.render import AIO_DATASETS, aio_judgment, relabel
from studies.flips import FLIPS_FILE, KIND, Flip, FlipSide, write_flips
from studies.items_browser import Asked, write_browser
from studies.markdown import filled
from studies.prompt_texts import prompt_texts

# Dataset → why no report shows its texts: reports tend to end up online.
WITHHELD = {"gpqa": "GPQA's authors ask that no example appear in plain text"}
PERSONAL = dict.fromkeys(AIO_DATASETS, "posts and comments of people on Reddit; --aio-text shows them")
STATEMENT_OF = {Condition.C2_CORRECT: Condition.C1_TRUE, Condition.C2_INCORRECT: Condition.C1_FALSE}
ONLY = ("as a statement alone", "from a speaker alone")
KINDS = ("lost", "gained")
SUMMARY = Path(__file__).with_name("flips.md")
# Name → words, and the columns of the true and of the false claim.
FRAMINGS = {"c1": ("a bare statement", measures.C1), "c2": ("a speaker's turn", measures.C2)}


def asked_by(runs: Mapping[str, panels.JudgedRun], withheld: Container[str]) -> Iterator[Asked]:
    """Every verdict of some runs; without the texts of withheld datasets."""
    for name, run in runs.items():
        choices = {(v.prompt.item_id, v.factors, v.condition, v.reply.sample_index): v.choice for v in run.verdicts}
        shown = {v.prompt.prompt_hash for v in run.verdicts if v.prompt.dataset not in withheld}
        read = prompt_texts(run, shown)
        for v in run.verdicts:
            prompt, sample, stated = v.prompt, v.reply.sample_index, STATEMENT_OF.get(v.condition, v.condition)
            statement = choices.get((prompt.item_id, v.factors, stated, sample)) or 0
            verdict = {measures.ACCEPT: "accepts", None: str(v.reason)}.get(v.choice, "rejects")
            is_changed = measures.is_changed(statement, v.choice or 0)
            yield Asked(
                item_id=prompt.item_id,
                dataset=prompt.dataset,
                judge=name,
                condition=v.condition,
                setting=", ".join([*varied(v.factors), *[f"sample {sample}"] * bool(sample)]),
                verdict=verdict if v.margin is None else f"{verdict} ({v.margin:+.2f} nats)",
                is_right=None if v.choice is None else (v.choice == measures.ACCEPT) == v.condition.claim_is_true,
                flip="accepted " + ONLY[v.choice == measures.ACCEPT] if is_changed else "",
                reply=None if prompt.dataset in withheld else v.reply.whole,
                prompt=read.get(prompt.prompt_hash),
            )


def varied(factors: Factors) -> list[str]:
    """What is not the default of a prompt's factors, in words; and its template."""
    usual = Factors(answer_form=factors.answer_form, template_version=factors.template_version)
    return [str(value) for name, value in asdict(factors).items() if value != getattr(usual, name)]


def write_items(folder: Path, runs: Mapping[str, panels.JudgedRun], *, shows_aio: bool) -> list[Path]:
    """The browser of the items of some runs; see studies.items_browser."""
    withheld = WITHHELD | ({} if shows_aio else PERSONAL)
    items = {item_id: item for run in runs.values() for item_id, item in panels.item_texts(run).items()}
    texts = {
        (item.dataset, item.item_id): {
            "Question": item.question,
            "Right answer": item.correct_answer,
            "Wrong answer": item.incorrect_answer,
        }
        for item in items.values()
        if item.dataset not in withheld
    }
    return write_browser(folder, asked_by(runs, withheld), texts)


class Side:
    """One run's verdicts in a framing as the command line names it: "c1", "c2/honest", "c2/none/v1"."""

    def __init__(self, run: panels.JudgedRun, text: str, when: str = "") -> None:
        """when: "before" or "after", of two runs. Raises DataError for an unknown framing, and where no dataset was
        asked so."""
        self.run = run
        name, *rest = text.split("/")
        if name not in FRAMINGS or len(rest) > 2:
            raise DataError(f"framing '{text}': write c1 or c2, or with an arm and a variant c2/honest, c2/none/v1")
        arm, variant = [*rest, *("none", "")[len(rest) :]]
        framing, self.columns = FRAMINGS[name]
        self.words = ", ".join(filter(None, [framing, f"arm {arm}" if arm != "none" else "", variant, when]))
        single = [p for p in run.panels if p.factors.answer_order != panels.BOTH_ORDERS]
        asked = panels.grouped(single, single).get((arm, panels.MAIN_ROLES, variant), [])
        self.panels = {panel.dataset: panel for panel in asked if (panel.has_c1 if name == "c1" else panel.has_c2)}
        if not self.panels:
            arms = ", ".join(dict.fromkeys(panel.factors.arm for panel in single))
            raise DataError(f"{run.judge}: no dataset was judged as {self.words} (arms: {arms})")
        # Of several samples the first that has the verdict gives the reason; margins have none.
        self.replies: dict[tuple[Any, ...], str] = {}
        for v in run.verdicts if run.reading.mode == "reason" else ():
            key = (v.prompt.dataset, v.prompt.item_id, v.condition, v.factors, v.choice)
            self.replies.setdefault(key, v.reply.text)

    def flip_side(self, dataset: str, row: int, claim: int, choice: int) -> FlipSide:
        """The verdict on a claim of an item, with what was written for it."""
        panel, condition = self.panels[dataset], measures.CONDITIONS[self.columns[claim]]
        key = (dataset, panel.item_ids[row], condition, panel.factors, choice)
        reason = measures.reasoning_in(self.replies.get(key, ""))
        # JSON can spell half surrogate pairs, which no file takes.
        reason = reason.encode("utf-8", "replace").decode()
        return FlipSide(put_as=self.words, accepts=choice == measures.ACCEPT, reason=reason)


def main(argv: Sequence[str]) -> None:
    """Find the claims that a judge decided differently in two framings of a run (C1 and C2 by default), or of two runs
    before and after training. Null verdicts are never flips."""
    parser = command_parser(f"build {KIND}", main)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=["lost"], help="lost: right, then wrong (default)")
    parser.add_argument("--parser", choices=sorted(measures.PARSERS), default="strict", help="of reasoned replies")
    options = parser.parse_args(argv)
    check_buildable(options.out)
    model, first, second = sides_of_runs(options)
    flips, facts = flips_between(model, first, second, options.kinds)
    manifest = {
        "source": [path.name for path in options.sources],
        "framings": [first.words, second.words],
        "kinds": options.kinds,
        "models": [model],
        **{key: {model: value} for key, value in {"n_flips": len(flips), **facts}.items()},
    }
    with locked(options.out, f"build {KIND}"):
        write_flips(options.out, iter(flips), manifest)
    say(filled(SUMMARY, model=model, flips=flips, file=options.out / FLIPS_FILE, **facts))


def sides_of_runs(options: argparse.Namespace) -> tuple[str, Side, Side]:
    """What the judge is called, and two framings within one run, or one in two runs: before and after."""
    runs = [panels.load_run(path, options.parser) for path in options.sources]
    if len(runs) > 2:
        raise DataError(f"{options.sources[2]}: name one run, or two: before and after training")
    names = judge_names([run.judge for run in runs], [run.name for run in runs])
    if len(runs) == 1:
        framings = (options.first or "c1", options.second or "c2")
        first, second = (Side(runs[0], framing) for framing in framings)
        return names[0], first, second
    differing = differences(runs[0], runs[1])
    if not options.allow_differences:
        check_comparable(names[0], {names[1]: differing})
    for line in difference_lines({names[1]: differing}):
        say(line)
    before = Side(runs[0], options.first or "c2", "before")
    return " → ".join(names), before, Side(runs[1], options.second or "c2", "after")


def flips_between(model: str, first: Side, second: Side, kinds: Sequence[str]) -> tuple[list[Flip], dict[str, Any]]:
    """The flips from one side to the other over the same items, and in what they were looked for: dataset → `items`,
    without the n_errors lost to engine errors, and `undecided`, [item, whether the claim is true] of claims without a
    verdict on both sides, which are never a flip.

    kinds: "lost" is a right verdict that becomes the wrong one, which is what the paper calls a flip; "gained" the
    reverse. Of several samples the majority counts.
    """
    flips, items, undecided, n_errors = list[Flip](), {}, dict[str, list[tuple[str, bool]]](), 0
    texts = panels.item_texts(first.run)
    for dataset in (name for name in first.panels if name in second.panels):
        sides = [(side, side.panels[dataset]) for side in (first, second)]
        before, after = (panel for _, panel in sides)
        panels.check_same_items(f"{dataset}, {first.words} against {second.words}", before, after)
        lost = [measures.lost_items(panel.replies[:, side.columns]) for side, panel in sides]
        rows = np.flatnonzero(~(lost[0] | lost[1])).tolist()
        n_errors += len(before.item_ids) - len(rows)
        items[dataset] = [before.item_ids[row] for row in rows]
        verdicts = [measures.majority(panel.replies)[:, side.columns] for side, panel in sides]
        for claim, row in product((0, 1), rows):
            item_id, claim_is_true = before.item_ids[row], claim == 0
            choices = [int(of_side[row, claim]) for of_side in verdicts]
            if min(choices) <= measures.UNPARSED:
                undecided.setdefault(dataset, []).append((item_id, claim_is_true))
            elif measures.is_changed(*choices):
                question, answer = asked_of(texts.get(item_id), before, claim_is_true)
                flip = Flip(
                    model=model,
                    dataset=dataset,
                    item_id=item_id,
                    claim_is_true=claim_is_true,
                    is_withheld=dataset in WITHHELD,
                    question=question,
                    claim=answer,
                    first=first.flip_side(dataset, row, claim, choices[0]),
                    second=second.flip_side(dataset, row, claim, choices[1]),
                )
                flips += [flip] * (("lost" if flip.is_loss else "gained") in kinds)
    if not items:
        raise DataError(f"{model}: no dataset was judged both as {first.words} and as {second.words}")
    return flips, {"items": items, "undecided": undecided, "n_errors": n_errors}


def asked_of(item: Item | None, panel: panels.Panel, claim_is_true: bool) -> tuple[str, str]:
    """The question and the claim of an item; r/AIO's question is what happened."""
    if item is None:
        return "", ""
    if item.dataset not in AIO_DATASETS:
        return item.question, item.correct_answer if claim_is_true else item.incorrect_answer
    labels = (panel.factors.speaker1, panel.factors.speaker2)
    _, judgee, judgment = aio_judgment(item, claim_is_true, labels, panel.roles)
    parts = [item.context or "", str(item.meta["dialogue"] or "") if item.dataset == "aio" else ""]
    return relabel("\n\n".join(part for part in parts if part), labels), f"{judgee} is {judgment}."
