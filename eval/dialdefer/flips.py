"""`evenhand build flips`: the claims that a judge decided differently, with its reasons, as a folder to ask about."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from eval.dialdefer.flip_examples import WITHHELD
from eval.dialdefer.measures import ACCEPT, C1, C2, CONDITIONS, ERROR, UNREADABLE, majority
from eval.dialdefer.panels import BOTH_ORDERS, Panel, refuse_unequal_items, variant_of
from eval.dialdefer.parsing import PARSERS, reasoning_in
from eval.dialdefer.runs import JudgedRun, item_texts, load_run
from eval.dialdefer.verdict_files import LAYOUT, load_external, own_id
from eval.estimates.comparability import differences, refuse_serious, say_differences
from eval.runs import is_verdict_file, judge_names
from eval.verdict_files import Column, Layout, read_frames
from evenhand.errors import DataError
from evenhand.manifest import refuse_foreign
from evenhand.sources.fetching import locked
from evenhand.terminal import say
from studies.dialdefer.datasets import DatasetSpec, load_items
from studies.dialdefer.records import Item
from studies.dialdefer.render import AIO_DATASETS, aio_judgment, relabel
from studies.flips import FLIPS_FILE, KIND, LENIENT, Flip, FlipSide, write_flips

KINDS = ("lost", "gained")
WORDS = {"c1": "a bare statement", "c2": "a speaker's turn"}
COLUMNS = {"c1": C1, "c2": C2}  # the true claim's, then the false one's
TEXT_COLUMNS = ("reason", "response", "question", "claim")  # of files; what is judged beside the verdict
KEY_COLUMNS = (*LAYOUT.required, "arm", "roles")

Asked = tuple[str, str]  # a question, and a claim that answers it


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FlipSource:
    """One judge's verdicts with their texts, which are "" where they are not known."""

    model: str
    panels: Sequence[Panel]
    reason: Callable[[Panel, int, int, int], str]  # panel, row, column, verdict → what was written for that verdict
    asked: Callable[[Panel, int, int], Asked]  # panel, row, column → question and claim


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """Verdicts in one framing: "c1", "c2/honest", "c2/none/v1"."""

    source: FlipSource
    framing: str  # c1 or c2
    arm: str
    variant: str  # "" is each dataset's main one
    roles: str
    when: str  # "before" or "after", where two runs are held against each other

    def __str__(self) -> str:
        arm = f"arm {self.arm}" if self.arm != "none" else ""
        return ", ".join(filter(None, [WORDS[self.framing], arm, self.variant, self.when]))

    def panels(self) -> dict[str, Panel]:
        """Dataset → its panel. Raises DataError where no dataset was asked so, or one twice."""
        single = [p for p in self.source.panels if p.factors.answer_order != BOTH_ORDERS]
        panels: dict[str, Panel] = {}
        for panel in single:
            is_asked = panel.has_c1 if self.framing == "c1" else panel.has_c2
            setting = (panel.factors.arm, panel.roles, variant_of(panel, single))
            if is_asked and setting == (self.arm, self.roles, self.variant):
                if panel.dataset in panels:
                    raise DataError(f"{self.source.model}: {panel.dataset} was judged twice as {self}")
                panels[panel.dataset] = panel
        if not panels:
            arms = ", ".join(dict.fromkeys(panel.factors.arm for panel in single))
            raise DataError(f"{self.source.model}: no dataset was judged as {self} (arms: {arms})")
        return panels


@dataclass(slots=True, kw_only=True)
class ModelFlips:
    """The flips of one model, and what they were looked for in."""

    model: str
    flips: list[Flip] = field(default_factory=list)
    items: dict[str, list[str]] = field(default_factory=dict)  # dataset → items, without those lost to engine errors
    # Dataset → [item, whether the claim is true] of claims without a verdict on one side or both: never a flip.
    undecided: dict[str, list[tuple[str, bool]]] = field(default_factory=dict)
    n_errors: int = 0  # items lost to engine errors


def main(argv: Sequence[str]) -> None:
    """Find the claims that a judge decided differently in two framings of a run (C1 and C2 by default), or of two runs
    before and after training; or of each model in files of verdicts. Null verdicts are never flips."""
    options = build_options(argv)
    refuse_foreign(options.out)
    pairs = sides_of_files(options) if is_verdict_file(options.sources[0]) else [sides_of_runs(options)]
    models = [flips_between(first, second, options.kinds) for first, second in pairs]
    facts = {
        "source": [path.name for path in options.sources],
        "framings": [str(side) for side in pairs[0]],
        "kinds": options.kinds,
        "models": [m.model for m in models],
        "items": {m.model: m.items for m in models},
        "n_flips": {m.model: len(m.flips) for m in models},
        "undecided": {m.model: m.undecided for m in models},
        "n_errors": {m.model: m.n_errors for m in models},
    }
    with locked(options.out, f"build {KIND}"):
        write_flips(options.out, (flip for m in models for flip in m.flips), facts)
    say("\n".join(line for m in models for line in summary(m)))
    say(f"{options.out / FLIPS_FILE}: done. It holds texts of the items: keep it where you keep them.")


def summary(flips: ModelFlips) -> list[str]:
    """What was found of one model, and what to know of it."""
    n, n_lenient = len(flips.flips), sum(flip.direction == LENIENT for flip in flips.flips)
    n_items, n_undecided = (sum(map(len, by_dataset.values())) for by_dataset in (flips.items, flips.undecided))
    lines = [
        f"{flips.model}: {n} flips ({n_lenient} accept the second time, {n - n_lenient} reject) of {n_items} items; "
        f"{n_undecided} claims without a verdict on both sides, {flips.n_errors} items lost to engine errors."
    ]
    if n_mute := sum(not (flip.first.reason and flip.second.reason) for flip in flips.flips):
        lines.append(f"  Warning: {n_mute} flips lack a reason on one side or both; these cannot be coded.")
    if n_bare := sum(not flip.claim for flip in flips.flips):
        lines.append(f"  Warning: {n_bare} flips lack question and claim: the items are not at hand, or have changed.")
    return lines


def sides_of_runs(options: argparse.Namespace) -> tuple[Side, Side]:
    """Two framings within one run, or one in two runs: before and after."""
    runs = [load_run(path, options.parser) for path in options.sources]
    names = judge_names([run.judge for run in runs], [run.name for run in runs])
    if len(runs) > 2:
        raise DataError(f"{options.sources[2]}: name one run, or two: before and after training")
    if len(runs) == 1:
        source = run_source(runs[0], names[0])
        return side(options, source, options.first or "c1"), side(options, source, options.second or "c2")
    differing = differences(runs[0], runs[1])
    if not options.allow_differences:
        refuse_serious(names[0], {names[1]: differing})
    say_differences(differing)
    before, after = run_source(runs[0], names[0]), run_source(runs[1], f"{names[0]} → {names[1]}")
    return (
        side(options, before, options.first or "c2", "before"),
        side(options, after, options.second or "c2", "after"),
    )


def sides_of_files(options: argparse.Namespace) -> list[tuple[Side, Side]]:
    """Two framings of each model in files of verdicts."""
    sources = file_sources(options.sources, options.parser, options.root)
    return [(side(options, s, options.first or "c1"), side(options, s, options.second or "c2")) for s in sources]


def side(options: argparse.Namespace, source: FlipSource, text: str, when: str = "") -> Side:
    """A framing as the command line names it. Raises DataError for an unknown one."""
    name, *rest = text.split("/")
    if name not in WORDS or len(rest) > 2:
        raise DataError(f"framing '{text}': write c1 or c2, or with an arm and a prompt variant c2/honest, c2/none/v1")
    arm, variant = [*rest, *("none", "")[len(rest) :]]
    return Side(source=source, framing=name, arm=arm, variant=variant, roles=options.roles, when=when)


def flips_between(first: Side, second: Side, kinds: Sequence[str]) -> ModelFlips:
    """The flips from one side to the other over the same items. kinds: "lost" and "gained".

    Lost is a right verdict that becomes the wrong one, which is what the paper calls a flip; gained the reverse. Of
    several samples the majority counts.
    """
    result = ModelFlips(model=second.source.model)
    ours, theirs = first.panels(), second.panels()
    columns = [COLUMNS[s.framing] for s in (first, second)]
    for dataset in (name for name in ours if name in theirs):
        panels = before, after = ours[dataset], theirs[dataset]
        refuse_unequal_items(f"{dataset}, {first} against {second}", before, after)
        answered = [(p.replies[:, c] != ERROR).any(axis=2).all(axis=1) for p, c in zip(panels, columns, strict=True)]
        kept = (answered[0] & answered[1]).nonzero()[0].tolist()
        result.n_errors += len(before.item_ids) - len(kept)
        result.items[dataset] = [before.item_ids[row] for row in kept]
        verdicts = [majority(panel.replies) for panel in panels]
        for pair in zip(*columns, strict=True):
            claim_is_true = CONDITIONS[pair[0]].claim_is_true
            for row in kept:
                choices = tuple(int(of[row, column]) for of, column in zip(verdicts, pair, strict=True))
                if min(choices) <= UNREADABLE:
                    result.undecided.setdefault(dataset, []).append((before.item_ids[row], claim_is_true))
                elif choices[0] != choices[1]:
                    question, claim = first.source.asked(before, row, pair[0])
                    one, other = (
                        FlipSide(
                            framing=str(s),
                            accepts=choice == ACCEPT,
                            reason=whole(s.source.reason(panel, row, column, choice)),
                        )
                        for s, panel, column, choice in zip((first, second), panels, pair, choices, strict=True)
                    )
                    flip = Flip(
                        model=second.source.model,
                        dataset=dataset,
                        item_id=before.item_ids[row],
                        question=whole(question),
                        claim=whole(claim),
                        claim_is_true=claim_is_true,
                        is_withheld=dataset in WITHHELD,
                        first=one,
                        second=other,
                    )
                    result.flips += [flip] if ("lost" if flip.is_loss else "gained") in kinds else []
    if not result.items:
        raise DataError(f"{result.model}: no dataset was judged both as {first} and as {second}")
    return result


def whole(text: str) -> str:
    """A text without half surrogate pairs, which JSON can spell and no file takes."""
    return text.encode("utf-8", "replace").decode()


def run_source(run: JudgedRun, model: str) -> FlipSource:
    """A run's. Of several samples the first that has the verdict gives the reason; margins have none."""
    replies: dict[tuple[str, int], str] = {}
    if run.reading.mode == "reason":
        for verdict in run.verdicts:
            if verdict.choice is not None:
                replies.setdefault((verdict.prompt_hash, verdict.choice), verdict.text)
    items = item_texts(run)

    def reason(panel: Panel, row: int, column: int, choice: int) -> str:
        return reasoning_in(replies.get((str(panel.hashes[row, column]), choice), ""))

    def asked(panel: Panel, row: int, column: int) -> Asked:
        return asked_of(items.get(panel.item_ids[row]), panel, CONDITIONS[column].claim_is_true)

    return FlipSource(model=model, panels=run.panels, reason=reason, asked=asked)


def asked_of(item: Item | None, panel: Panel, claim_is_true: bool) -> Asked:
    """The question and the claim of an item; r/AIO's question is what happened."""
    if item is None:
        return "", ""
    if item.dataset not in AIO_DATASETS:
        return item.question, item.correct_answer if claim_is_true else item.incorrect_answer
    labels = (panel.factors.speaker1, panel.factors.speaker2)
    _, judgee, judgment = aio_judgment(item, claim_is_true, labels, panel.roles)
    parts = [item.context or "", str(item.meta["dialogue"] or "") if item.dataset == "aio" else ""]
    return relabel("\n\n".join(part for part in parts if part), labels), f"{judgee} is {judgment}."


def file_sources(paths: Sequence[Path], parser: str, root: Path | None) -> list[FlipSource]:
    """Those of each model in verdict files taken together. root: of the items, for files without questions."""
    judges = load_external(paths, parser).judges
    texts = texts_in(paths)
    datasets = {panel.dataset for judge in judges for panel in judge.panels}
    specs = [DatasetSpec(dataset=dataset, root=root) for dataset in sorted(datasets)] if root else []
    items = {item.item_id: item for item in load_items(specs)}
    return [file_source(judge.model, judge.panels, texts, items) for judge in judges]


def file_source(
    model: str, panels: Sequence[Panel], texts: Mapping[tuple[str, ...], Mapping[str, str]], items: Mapping[str, Item]
) -> FlipSource:
    """One model's."""

    def cells(panel: Panel, row: int, column: int) -> Mapping[str, str]:
        key = (model, panel.dataset, panel.item_ids[row], str(CONDITIONS[column]), panel.factors.arm, panel.roles)
        return texts.get(key, {})

    def reason(panel: Panel, row: int, column: int, choice: int) -> str:
        given = cells(panel, row, column)
        return given.get("reason", "").strip() or reasoning_in(given.get("response", ""))

    def asked(panel: Panel, row: int, column: int) -> Asked:
        given = cells(panel, row, column)
        question, claim = asked_of(items.get(panel.item_ids[row]), panel, CONDITIONS[column].claim_is_true)
        return given.get("question", "") or question, given.get("claim", "") or claim

    return FlipSource(model=model, panels=panels, reason=reason, asked=asked)


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
