"""Narrator verdicts from anywhere: rows of files → runs as if they had been sampled here. A row is one answer."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import pandas as pd

from eval.narrator.judged_runs import Judgment, NarratorRun, sampled
from eval.verdict_files import Column, Layout, one_of, place, read_frames, refuse
from evenhand.checksum import sha256_of
from evenhand.errors import DataError
from evenhand.records import Completion, digest
from studies.built_folder import read_manifest
from studies.narrator import pocket
from studies.narrator.corpora import CorpusSpec, load_conversations
from studies.narrator.prompts import ME, NO, YES
from studies.narrator.records import BENCHMARK, NarratorFactors, OptionOrder, Perspective, Task, Visibility


def speaker(text: str) -> str:
    """A speaker's name; "" for nobody, who is also called neutral. Raises DataError for the name that hides one."""
    if text == ME:
        raise DataError(f"must be a speaker's own name, not '{ME}'")
    return "" if text.casefold() == "neutral" else text


TASKS, VISIBILITIES, ORDERS = get_args(Task), get_args(Visibility), get_args(OptionOrder)
NOBODY = "the name of the speaker who is called Me; empty, null or neutral: nobody"
LAYOUT = Layout(
    columns={
        "conversation": Column("its id; with --conversations that of the corpus", str, True, types=(str, int)),
        "task": Column(" ".join(TASKS), one_of(TASKS), True),
        "narrator": Column(NOBODY, speaker, True, default="", types=(str, int)),
        "visibility": Column(f"of the attack: {' '.join(VISIBILITIES)}", one_of(VISIBILITIES), True),
        "answer": Column("the reply's text, which is read as replies of runs are", is_required=True),
        "attacker": Column(
            "the attacker's name; needed without --conversations", speaker, default="", types=(str, int)
        ),
        "model": Column("what tables call it (default: external)", str, default="external", types=(str, int)),
        "option_order": Column(f"{' '.join(ORDERS)} (default: {ORDERS[0]})", one_of(ORDERS), default=ORDERS[0]),
    }
)
COLUMNS_HELP = LAYOUT.help(
    "Files of narrator verdicts have a row for each answer; several rows of one prompt are its samples. Columns:",
    "The first five are needed. Without --conversations a conversation's speakers are its attacker and its narrators.",
)
PROMPT = ["model", "conversation", "task", "narrator", "visibility", "option_order"]  # rows alike in these are samples


@dataclass(frozen=True, slots=True)
class Known:
    """What there is to know of a conversation."""

    names: tuple[str, ...]  # of its speakers
    attacker: str
    is_unseen: bool = False  # the attacker says nothing but the attack
    dataset: str = "external"
    conversation_id: str = ""  # in the corpus; "" where a file alone tells of it


def load_verdicts(paths: Sequence[Path], corpus: str | None) -> tuple[list[NarratorRun], list[str]]:
    """(a run for each model, columns that nothing was done with). corpus: "pocket-conflicts", a built folder, or None.

    Raises DataError naming file and line for a value that cannot be, a conversation without a known attacker, or rows
    that cannot be samples; and for a file that is there twice.
    """
    parts, ignored, first = list[pd.DataFrame](), set[str](), dict[str, Path]()
    for path in paths:
        for frame, others in read_frames(path, LAYOUT):
            is_text = (answer is None or isinstance(answer, str) for answer in frame["answer"])
            refuse(path, frame, "answer", (not text for text in is_text), "must be the reply's text, found {}")
            where = [place(path, line) for line in frame.index]
            parts.append(frame.assign(answer=[answer or "" for answer in frame["answer"]], where=where, path=str(path)))
            ignored.update(others)
    for path in paths:
        if (hash_ := sha256_of(path)) in first:
            raise DataError(f"{path}: holds the same bytes as {first[hash_]}; name each file once")
        first[hash_] = path
    rows = pd.concat(parts, ignore_index=True)
    known = conversations_in(rows) if corpus is None else conversations_of(corpus)
    for row in rows.drop_duplicates(["conversation", "narrator"]).itertuples():
        if row.conversation not in known:
            raise DataError(f"{row.where}: conversation '{row.conversation}' is not in the corpus")
        names = known[row.conversation].names
        if row.narrator and row.narrator not in names:
            raise DataError(
                f"{row.where}: '{row.narrator}' is not a speaker of '{row.conversation}': {', '.join(names)}"
            )
    # An id counts as one, with and without the corpus's name.
    rows["conversation"] = [known[key].conversation_id or key for key in rows["conversation"]]
    return [run_of(paths[0], str(m), of, known) for m, of in rows.groupby("model", sort=False)], sorted(ignored)


def conversations_in(rows: pd.DataFrame) -> dict[str, Known]:
    """Conversation → its speakers and attacker, as the rows say."""
    attackers: dict[str, str] = {}
    for row in rows[rows["attacker"] != ""].itertuples():
        if attackers.setdefault(row.conversation, row.attacker) != row.attacker:
            other = attackers[row.conversation]
            raise DataError(
                f"{row.where}: the attacker of '{row.conversation}' is '{row.attacker}', elsewhere '{other}'"
            )
    for row in rows[~rows["conversation"].isin(attackers)].itertuples():
        fix = "add a column 'attacker', or name the corpus with --conversations"
        raise DataError(f"{row.where}: nothing says who the attacker of '{row.conversation}' is; {fix}")
    groups = rows.groupby("conversation")
    return {key: Known(tuple(sorted({*of["narrator"], attackers[key]} - {""})), attackers[key]) for key, of in groups}


def conversations_of(corpus: str) -> dict[str, Known]:
    """The same of a corpus. A conversation is found by its id, and by the source's own without the corpus's name."""
    if corpus == pocket.DATASET:
        spec = CorpusSpec(dataset=corpus, split="all")
    else:
        spec = CorpusSpec(dataset=read_manifest(Path(corpus), BENCHMARK)["dataset"], split="all", root=Path(corpus))
    known = {}
    for made in load_conversations(spec):
        names, key = tuple(made.names.values()), made.conversation_id
        known[key] = Known(names, made.names[made.attacker], made.attacker_is_unseen, made.dataset, key)
        known[key.removeprefix(f"{made.dataset}-")] = known[key]
    return known


def run_of(path: Path, model: str, rows: pd.DataFrame, known: Mapping[str, Known]) -> NarratorRun:
    """The answers of one model as a run."""
    columns = {"answers": ("answer", list), "where": ("where", list), "path": ("path", "first")}
    prompts = rows.groupby(PROMPT, sort=False).agg(**columns).reset_index()
    judgments = tuple(judgment_of(row, known[row.conversation]) for row in prompts.itertuples())
    n_samples = int(prompts["answers"].map(len).max())
    return NarratorRun(
        path=path,
        judge=model,
        verdict="answer",
        n_samples=n_samples,
        config={
            "model": {"name": model},
            "narrator": {"corpus": {"dataset": judgments[0].dataset}},
            "verdict": "answer",
            "sampling": {"n": n_samples},
        },
        provenance={},
        rendered={},
        judgments=judgments,
        excluded={},
        doubts=list(doubts_of(prompts)),
    )


def doubts_of(prompts: pd.DataFrame) -> Iterator[str]:
    """Doubts that the rows of a prompt are its samples. Raises DataError for rows that must be repeated ones: twice or
    more times as many as most prompts of the file have, or copies of answers where elsewhere no two are alike.
    """
    # Each file may have a number of samples of its own.
    for (file, task, visibility, order), alike in prompts.groupby(
        ["path", "task", "visibility", "option_order"], sort=False
    ):
        where = f"{task}, attack {visibility}, {order} in {Path(file).name}"
        n, n_unlike = alike["answers"].map(len), alike["answers"].map(lambda answers: len(set(answers)))
        counts = Counter(n.tolist())
        usual = max(counts, key=lambda number: (counts[number], number))
        is_free_text = bool((n == n_unlike)[n <= usual].all())
        for row in alike[(n > usual) & ((n % usual == 0) | (is_free_text & (n_unlike <= usual)))].itertuples():
            raise DataError(
                f"{row.where[usual]}: is answer {usual + 1} to a prompt that is answered first at {row.where[0]}; most "
                f"prompts ({where}) have {usual}. Rows of a prompt count as its samples: remove repeated ones, write a "
                "missing reply as an empty answer, and keep batches of other numbers of samples in files of their own"
            )
        for word, n_uneven in (("fewer", (n < usual).sum()), ("more", (n > usual).sum())):
            if n_uneven:
                have = f"prompts {'has' if n_uneven == 1 else 'have'} {word} answers than the others ({usual})"
                left_out = "If unreadable replies were left out of the file, M is of the others only."
                yield f"{where}: {n_uneven:,} of {len(alike):,} {have}, and count as much. {left_out}"
        times = math.gcd(*(number for answers in alike["answers"] for number in Counter(answers).values()))
        if times > 1:
            yield f"{where}: every answer stands {times} times. If rows were repeated, keep each row once."


def judgment_of(row: Any, known: Known) -> Judgment:
    """What a model answered to one prompt."""
    perspective: Perspective = (
        "neutral" if not row.narrator else "attacker" if row.narrator == known.attacker else "non_attacker"
    )
    names = {name: ME if name == row.narrator else name for name in known.names}
    options = (YES, NO) if row.task == "detection" else tuple(names.values())
    hash_ = digest([getattr(row, name) for name in PROMPT], 16)
    completions = [
        Completion(prompt_hash=hash_, sample_index=k, text=text, finish_reason="stop")
        for k, text in enumerate(row.answers)
    ]
    return Judgment(
        judge=row.model,
        prompt_hash=hash_,
        conversation=f"{known.dataset}/{row.conversation}",
        factors=NarratorFactors(
            task=row.task,
            visibility=row.visibility,
            perspective=perspective,
            narrator=row.narrator,
            option_order=row.option_order,
            target=YES if row.task == "detection" else names[known.attacker],
            n_speakers=len(known.names),
            attacker_is_unseen=row.visibility == "hidden" and known.is_unseen,
        ),
        options=options,
        **sampled(completions, options),
    )
