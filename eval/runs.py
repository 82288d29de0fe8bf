"""Finished sampling runs of any study, as far as all of them are alike: what was asked and replied, study, names."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, ConfigDict, TypeAdapter

from evenhand.checkpoints import ModelConfig
from evenhand.completions import read_answers, read_excluded
from evenhand.config import parse_config, read_yaml
from evenhand.data_files import SUFFIXES, kind_of
from evenhand.errors import DataError
from evenhand.files import sha256_of
from evenhand.records import Completion, record_from
from evenhand.registry import STUDIES, study_in
from evenhand.run_directory import CONFIG_FILE, PLAN_FILE, PROVENANCE_FILE, check_complete, read_json, read_plan_lines

SELF_READ = "self_read"  # in the place of a run's verdict: as the judge reads its own replies
# (prompt hash, sample) → what its reply was read as; None: it could not be read. Lacks replies that are no verdicts.
Verdicts = Mapping[tuple[str, int], str | None]


# A FinishedRun, or what a study makes of it: name, config, provenance, rendered, and a plan of prompts with dataset,
# item_id, condition, factors and prompt_hash. Two runs of one study are compared by it.
SampledRun = Any


def run_config(path: Path) -> dict[str, Any]:
    """A complete sampling run's config. Raises DataError when the run is not complete or a file of it was changed."""
    check_complete(path)
    return read_yaml(path / CONFIG_FILE)


def pairs_of(factors: Any) -> Any:
    """Factors as a line has them, by name, as pairs; a list as a tuple."""
    is_named = isinstance(factors, dict)
    return [(k, tuple(v) if isinstance(v, list) else v) for k, v in factors.items()] if is_named else factors


# A plan may have a million lines: what many say is kept once.
kept_once = AfterValidator(lru_cache(maxsize=2**16)(lambda value: value))
Word = Annotated[str, kept_once]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedPrompt:
    """A line of a run's plan."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    prompt_hash: str
    item_id: Word  # of the unit
    dataset: Word
    condition: Word
    # what the study varied: name and value
    factors: Annotated[tuple[tuple[str, Any], ...], BeforeValidator(pairs_of), kept_once]
    benchmark: Word = ""
    answer_space: Annotated[tuple[str, ...], kept_once] = ()
    n: int | None = None  # answers that it takes, where not as many as the run's
    cluster: Word | None = None  # of its unit
    reads: tuple[str, int] | None = None  # the reply that it asks the judge to read: its prompt's hash and sample
    schema: Word | None = None  # of the reply, for the sampler alone


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedRun:
    """A complete run: what was asked, and what was replied."""

    path: Path
    config: Mapping[str, Any]
    provenance: Mapping[str, Any]
    plan: Sequence[PlannedPrompt]  # without the units that were left out, and the turns behind `self_read`
    replies: Mapping[str, Sequence[Completion]]  # prompt hash → replies in the order of their samples
    rendered: Mapping[str, str]  # prompt hash → digest of what the model read; lacks what a server rendered unseen
    excluded: Mapping[str, str] = field(default_factory=dict)  # unit that was left out → why
    # (prompt hash, sample) of a written reply → what the judge said when it was asked for its symbol (self_read)
    self_read: Mapping[tuple[str, int], Completion] = field(default_factory=dict)

    @property
    def n_samples(self) -> int:
        """Replies to each prompt."""
        return int(self.config["sampling"].get("n", 1))

    @property
    def name(self) -> str:
        """The run directory's name."""
        return self.path.name

    @property
    def judge(self) -> str:
        """What tables call the model, with its patch."""
        model = parse_config(ModelConfig, dict(self.config["model"]), f"{self.path / CONFIG_FILE}: model")
        judge = " + ".join([model.shown_as, *patch_of(self.config)])
        return f"{judge}, read by itself" if self.config.get("verdict") == SELF_READ else judge


def as_read_by_itself(run: FinishedRun) -> FinishedRun:
    """A run with what the judge reads in each of its replies in the place of the reply, and the verdict SELF_READ.

    A reply without a word was not read; an engine error stays one. Prompts for free text are left out.
    """

    def reading(reply: Completion, key: tuple[str, int]) -> Completion:
        read = run.self_read.get(key)
        silent = replace(reply, text="", finish_reason="stop")
        return replace(reply if reply.is_error else read or silent, prompt_hash=key[0], sample_index=key[1])

    replies = {
        hash_: [reading(reply, (hash_, reply.sample_index)) for reply in of_prompt]
        for hash_, of_prompt in run.replies.items()
    }
    plan = [prompt for prompt in run.plan if prompt.answer_space]
    return replace(run, plan=plan, replies=replies, self_read={}, config={**run.config, "verdict": SELF_READ})


def patch_of(config: Mapping[str, Any]) -> list[str]:
    """The name of a sampling run's patch, if it has one; see inference.patch."""
    return [config["patch"]["name"]] if config.get("patch") else []


def patch_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """What the patch of a sampling run sets, whatever it is called; {} where it has none."""
    return {key: value for key, value in (config.get("patch") or {}).items() if key != "name"}


def load_finished(path: Path, *, with_errors: bool = False) -> FinishedRun:
    """A run of any study: the one reader of runs. with_errors: an engine error counts as a reply that is one.

    Raises DataError when the run is not complete, since a plan may grow until the last reply is there, or a file of it
    was changed.
    """
    config, excluded, answers = run_config(path), read_excluded(path), read_answers(path)
    line_of = partial(record_from, TypeAdapter(PlannedPrompt))
    try:
        plan = [prompt for prompt in map(line_of, read_plan_lines(path)) if prompt.item_id not in excluded]
    except ValueError as error:
        raise DataError(f"{path / PLAN_FILE}: {error}; restore it, or sample the run again") from None
    replies = answers.replies if with_errors else answers.without_errors
    turns = {prompt.reads: prompt.prompt_hash for prompt in plan if prompt.reads}
    asked_back = {*turns.values()}
    run = FinishedRun(
        path=path,
        config=config,
        provenance=read_json(path / PROVENANCE_FILE),
        plan=[prompt for prompt in plan if not prompt.reads],
        replies={hash_: of_prompt for hash_, of_prompt in replies.items() if hash_ not in asked_back},
        self_read={key: replies[hash_][0] for key, hash_ in turns.items() if replies.get(hash_)},
        rendered=answers.rendered,
        excluded=excluded,
    )
    if not plan:
        raise DataError(f"{path}: its plan is empty, so there is nothing to score")
    planned = {prompt.prompt_hash: prompt.n or run.n_samples for prompt in plan}
    if n_missing := sum(len(replies.get(hash_, ())) < n for hash_, n in planned.items()):
        raise DataError(
            f"{path}: {n_missing} of {len(planned)} prompts have no completion; `evenhand sample {path / CONFIG_FILE}`"
        )
    return run


def clusters_of(plan: Iterable[PlannedPrompt], *, is_across: bool = False) -> dict[tuple[str, str], str]:
    """(dataset, unit) → its cluster, called by its smallest unit. In one cluster are units that were given one
    cluster's name, and those that share a prompt, since its reply counts for both.

    Clusters are of one dataset; with is_across of all together, and called "DATASET UNIT".
    """
    owners: dict[tuple[str, str, str], tuple[str, str]] = {}  # a prompt, or a cluster's name → its first unit
    parents: dict[tuple[str, str], tuple[str, str]] = {}

    def root(unit: tuple[str, str]) -> tuple[str, str]:
        while (parent := parents.setdefault(unit, unit)) != unit:
            parents[unit] = unit = parents[parent]
        return unit

    for prompt in plan:
        named = [] if prompt.cluster is None else [("cluster", prompt.cluster)]
        for key in (("prompt", prompt.prompt_hash), *named):
            unit = root((prompt.dataset, prompt.item_id))
            place = "" if is_across else prompt.dataset
            first, second = sorted((unit, root(owners.setdefault((place, *key), unit))))
            parents[second] = first
    return {unit: " ".join(root(unit)) if is_across else root(unit)[1] for unit in parents}


def copy_doubts(plan: Iterable[PlannedPrompt]) -> list[str]:
    """That some units ask nothing but what another one asks, where some do."""
    owners: dict[tuple[str, str], str] = {}
    units = {(p.dataset, p.item_id) for p in plan if owners.setdefault((p.dataset, p.prompt_hash), p.item_id)}
    n_copies = len(units) - len({(dataset, unit) for (dataset, _), unit in owners.items()})
    words = f"{n_copies} of its {len(units)} items have the text of another one, under another id"
    return [f"{words}: both are one cluster, resampled as a whole. Ask each once."] if n_copies else []


def reading_shares(replies: Mapping[tuple[str, str], int]) -> Iterator[tuple[str, str, float, int]]:
    """(condition, how a reply was read or why not) → how many replies: each with its % of the condition's replies and
    how many, the most frequent first."""
    counts: dict[str, Counter[str]] = {}
    for (condition, state), n in replies.items():
        counts.setdefault(condition, Counter())[state] = n
    for condition, of_condition in counts.items():
        for state, n in of_condition.most_common():
            yield condition, state, 100 * n / of_condition.total(), n


def check_named_once(paths: Sequence[Path]) -> None:
    """Raises DataError when a run or file of verdicts is named twice, or a file is a copy of another."""
    seen: dict[Path | str, Path] = {}
    for path in paths if len(paths) > 1 else ():
        first = seen.setdefault(sha256_of(path) if path.is_file() else path.resolve(), path)
        if first is not path:
            same = first.resolve() == path.resolve()
            raise DataError(f"{path}: is {'named twice' if same else f'a copy of {first}'}; name each once")


def runs_by_study(paths: Sequence[Path]) -> dict[str, list[Path]]:
    """The runs of each study: studies as they are registered, runs in the order given.

    Raises DataError where a folder is no sampling run.
    """
    runs: dict[str, list[Path]] = {}
    for path in paths:
        if not (path / PLAN_FILE).exists():
            read_plan_lines(path)  # says so, and what to do
        runs.setdefault(study_of_run(path), []).append(path)
    return {study: runs[study] for study in STUDIES if study in runs}


def study_of_run(path: Path) -> str:
    """The study of a run, as its config says."""
    return study_in(read_yaml(path / CONFIG_FILE), str(path / CONFIG_FILE))


def judge_names(
    models: Sequence[str], runs: Sequence[str], ways: Sequence[str] = (), taken: Sequence[str] = ()
) -> list[str]:
    """A name for each judge: its model; where that is not enough the way it was read, else the run's name.

    ways: how each was read, where judges of one model may differ in that; taken: names of others beside them.
    """
    read = list(zip(models, ways or [""] * len(models), strict=True))
    names = []
    for (model, way), run in zip(read, runs, strict=True):
        is_told = way and read.count((model, way)) == 1
        names.append(model if [*models, *taken].count(model) == 1 else f"{model} ({way if is_told else run})")
    return names


def is_data_file(path: Path) -> bool:
    """Whether a path names a data file, by its suffix, and is not a folder."""
    return kind_of(path) in SUFFIXES and not path.is_dir()
