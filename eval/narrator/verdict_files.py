"""Narrator verdicts from anywhere: rows of files → runs as if they had been sampled here. A row is one answer."""

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, get_args

from eval.narrator.judged_runs import Judgment, NarratorRun, sampled
from eval.verdict_files import Absent, Batch, Layout, read_batches
from evenhand.checksum import sha256_of
from evenhand.errors import DataError
from evenhand.manifest import read_manifest
from evenhand.records import Completion, digest
from evenhand.sources.record_fields import shown
from studies.narrator import pocket
from studies.narrator.corpora import CorpusSpec, load_conversations
from studies.narrator.prompts import ME, NO, YES
from studies.narrator.records import BENCHMARK, NarratorFactors, OptionOrder, Perspective, Task, Visibility

LAYOUT = Layout(
    required=("conversation", "task", "narrator", "visibility", "answer"),
    optional=("model", "option_order", "attacker"),
)
COLUMNS_HELP = """\
Files of narrator verdicts have a row for each answer; several rows of one prompt are its samples. Columns:
  conversation  its id; with --conversations that of the corpus
  task          detection identification blame
  narrator      the name of the speaker who is called Me; empty, null or neutral: nobody
  visibility    of the attack: visible hidden
  answer        the reply's text, which is read as replies of runs are
and may have:
  attacker      the annotated attacker's name; needed without --conversations
  model         what tables call it (default: external)
  option_order  published (the default) fixed_slot
Without --conversations a conversation's speakers are its attacker and all who are its narrator in some row."""
NEUTRAL, DEFAULT_MODEL = "neutral", "external"
CHOICES = {
    "task": get_args(Task),
    "visibility": get_args(Visibility),
    "option_order": get_args(OptionOrder),
}


class Row(NamedTuple):
    """One answer."""

    model: str
    conversation: str
    task: Task
    narrator: str  # "" is nobody
    visibility: Visibility
    option_order: OptionOrder
    attacker: str  # "" where the file does not say
    answer: str
    where: str


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
    rows, ignored = list[Row](), set[str]()
    for path in paths:
        for batch in read_batches(path, LAYOUT):
            rows += [row_of(batch, i) for i in range(len(batch.lines))]
            ignored |= batch.ignored
    first: dict[str, Path] = {}
    for i, path in enumerate(paths):
        hash_ = sha256_of(path)
        if hash_ in first:
            raise DataError(f"{path}: holds the same bytes as {first[hash_]} (file {i + 1}); name each file once")
        first[hash_] = path
    known = told(rows) if corpus is None else corpus_of(corpus)
    of_models: dict[str, list[Row]] = defaultdict(list)
    for row in rows:  # an id counts as one, with and without the corpus's name
        told_id = known[row.conversation].conversation_id if row.conversation in known else ""
        of_models[row.model].append(row._replace(conversation=told_id or row.conversation))
    return [run_of(paths, model, of, known) for model, of in of_models.items()], sorted(ignored)


def row_of(batch: Batch, i: int) -> Row:
    """A row, checked."""
    where = batch.where(i)
    values = {name: batch.column(name)[i] for name in LAYOUT.columns}
    for name in LAYOUT.required:
        if values[name] is Absent.FIELD:
            raise DataError(f"{where}: has no field '{name}'")
    texts = {name: "" if v is None or v is Absent.FIELD or v != v else str(v).strip() for name, v in values.items()}
    texts["option_order"] = texts["option_order"] or "published"
    for name, choices in CHOICES.items():
        if texts[name] not in choices:
            raise DataError(f"{where}: {name} is {shown(values[name])}, expected one of {', '.join(choices)}")
    if not texts["conversation"]:
        raise DataError(f"{where}: conversation is empty")
    narrator = "" if texts["narrator"].casefold() == NEUTRAL else texts["narrator"]
    if ME in (narrator, texts["attacker"]):
        raise DataError(f"{where}: the narrator and the attacker are speakers, by their own names, not '{ME}'")
    answer = values["answer"]
    if not (answer is None or isinstance(answer, str)):
        raise DataError(f"{where}: answer is {shown(answer)}, expected the reply's text")
    return Row(
        **{name: texts[name] for name in ("conversation", "task", "visibility", "option_order", "attacker")},  # type: ignore[arg-type]
        model=texts["model"] or DEFAULT_MODEL,
        narrator=narrator,
        answer=answer or "",
        where=where,
    )


def told(rows: Sequence[Row]) -> dict[str, Known]:
    """Conversation → its speakers and attacker, as the rows say."""
    attackers: dict[str, str] = {}
    names: dict[str, dict[str, None]] = defaultdict(dict)
    for row in rows:
        if row.attacker and attackers.setdefault(row.conversation, row.attacker) != row.attacker:
            raise DataError(
                f"{row.where}: the attacker of '{row.conversation}' is '{row.attacker}', elsewhere "
                f"'{attackers[row.conversation]}'"
            )
        names[row.conversation] |= dict.fromkeys(name for name in (row.narrator, row.attacker) if name)
    for row in rows:
        if row.conversation not in attackers:
            raise DataError(
                f"{row.where}: nothing says who the attacker of '{row.conversation}' is; add a column 'attacker', or "
                "name the corpus with --conversations"
            )
    return {key: Known(tuple(sorted(names[key])), attacker) for key, attacker in attackers.items()}


def corpus_of(corpus: str) -> dict[str, Known]:
    """The same of a corpus. A conversation is found by its id, and by the source's own without the corpus's name."""
    if corpus == pocket.DATASET:
        spec = CorpusSpec(dataset=corpus, split="all")
    else:
        spec = CorpusSpec(dataset=read_manifest(Path(corpus), BENCHMARK)["dataset"], split="all", root=Path(corpus))
    found = {}
    for one in load_conversations(spec):
        known = Known(
            tuple(one.names.values()), one.names[one.attacker], one.attacker_is_unseen, one.dataset, one.conversation_id
        )
        found[one.conversation_id] = found[one.conversation_id.removeprefix(f"{one.dataset}-")] = known
    return found


def run_of(paths: Sequence[Path], model: str, rows: Sequence[Row], known: Mapping[str, Known]) -> NarratorRun:
    """The answers of one model as a run."""
    replies: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        replies[row[: Row._fields.index("attacker")]].append(row)
    judgments = tuple(judgment_of(model, of, known) for of in replies.values())
    n_samples = max(map(len, replies.values()))
    dataset = judgments[0].dataset
    return NarratorRun(
        path=paths[0],
        judge=model,
        model=model,
        verdict="answer",
        n_samples=n_samples,
        temperature=None,
        config={
            "model": {"name": model},
            "narrator": {"corpus": {"dataset": dataset}},
            "verdict": "answer",
            "sampling": {"n": n_samples},
        },
        provenance={},
        rendered={},
        judgments=judgments,
        excluded={},
        doubts=list(repeats(replies.values())),
    )


def repeats(prompts: Collection[Sequence[Row]]) -> Iterator[str]:
    """Doubts that the rows of a prompt are its samples. Raises DataError for rows that must be repeated ones: twice or
    more times as many as most prompts of the file have, or copies of answers where elsewhere no two are alike.
    """
    settings: dict[tuple[str, ...], list[Sequence[Row]]] = defaultdict(list)
    for rows in prompts:
        file = rows[0].where.rpartition(":")[0]  # each may have a number of samples of its own
        settings[file, rows[0].task, rows[0].visibility, rows[0].option_order].append(rows)
    for setting, of_setting in settings.items():
        where = f"{setting[1]}, attack {setting[2]}, {setting[3]} in {Path(setting[0]).name}"
        counts = Counter(map(len, of_setting))
        usual = max(counts, key=lambda n: (counts[n], n))
        n_unlike = [(len(rows), len({row.answer for row in rows})) for rows in of_setting]
        is_free_text = all(n == unlike for n, unlike in n_unlike if n <= usual)
        for rows, (n, unlike) in zip(of_setting, n_unlike, strict=True):
            if n > usual and (n % usual == 0 or (is_free_text and unlike <= usual)):
                raise DataError(
                    f"{rows[usual].where}: is answer {usual + 1} to a prompt that is answered first at "
                    f"{rows[0].where}; most prompts ({where}) have {usual}. Rows of a prompt count as its samples: "
                    "remove repeated ones, give a reply that is missing elsewhere a row with an empty answer, and keep "
                    "batches of other numbers of samples in files of their own"
                )
        uneven = {"fewer": sum(n < usual for n, _ in n_unlike), "more": sum(n > usual for n, _ in n_unlike)}
        for word, n_uneven in uneven.items():
            if n_uneven:
                yield (
                    f"{where}: {n_uneven:,} of {len(of_setting):,} prompts {'has' if n_uneven == 1 else 'have'} {word} "
                    f"answers than the others ({usual}), and count as much. If replies that could not be read were "
                    "left out of the file, M is of the others only."
                )
        times = math.gcd(*(n for rows in of_setting for n in Counter(row.answer for row in rows).values()))
        if times > 1:
            yield (
                f"{where}: every answer stands {times} times. If rows were repeated, these are not samples: keep each "
                "row once."
            )


def judgment_of(model: str, rows: Sequence[Row], known: Mapping[str, Known]) -> Judgment:
    """What a model answered to one prompt. Raises DataError for a conversation or narrator that is not known."""
    row = rows[0]
    if row.conversation not in known:
        raise DataError(f"{row.where}: conversation '{row.conversation}' is none of the corpus")
    of = known[row.conversation]
    if row.narrator and row.narrator not in of.names:
        raise DataError(f"{row.where}: '{row.narrator}' is no speaker of '{row.conversation}': {', '.join(of.names)}")
    perspective: Perspective = (
        "neutral" if not row.narrator else "attacker" if row.narrator == of.attacker else "non_attacker"
    )
    names = {name: ME if name == row.narrator else name for name in of.names}
    options = (YES, NO) if row.task == "detection" else tuple(names.values())
    hash_ = digest([model, *row[1 : Row._fields.index("attacker")]], 16)
    completions = [
        Completion(prompt_hash=hash_, sample_index=k, text=one.answer, finish_reason="stop")
        for k, one in enumerate(rows)
    ]
    shares, begun, states, n_replies = sampled(completions, options, is_raw=False)
    return Judgment(
        judge=model,
        prompt_hash=hash_,
        conversation=f"{of.dataset}/{row.conversation}",
        factors=NarratorFactors(
            task=row.task,
            visibility=row.visibility,
            perspective=perspective,
            narrator=row.narrator,
            option_order=row.option_order,
            target=YES if row.task == "detection" else names[of.attacker],
            n_speakers=len(of.names),
            attacker_is_unseen=row.visibility == "hidden" and of.is_unseen,
        ),
        options=options,
        shares=shares,
        begun=begun,
        states=states,
        n_replies=n_replies,
    )
