"""Finished runs of the narrator study on disk → what each model answered to each prompt."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from eval.judge_names import judge_names
from eval.narrator.answers import STATES, State, read_answer
from eval.narrator.option_prefixes import begun_shares
from eval.sampling_runs import FinishedRun, Verdicts, refuse_unfinished, run_config
from evenhand.answer_doubts import answer_doubts
from evenhand.checkpoints import ModelConfig
from evenhand.completion_shards import read_answers
from evenhand.config import parse_config
from evenhand.errors import DataError
from evenhand.excluded_units import read_excluded
from evenhand.records import Completion
from evenhand.run_directory import CONFIG_FILE, PLAN_FILE, PROVENANCE_FILE, read_json, read_plan_lines
from studies.narrator.prompts import ME
from studies.narrator.records import BENCHMARK, NarratorFactors, Perspective

Denominator = Literal["answered", "all"]
VERDICTS = ("answer", "options")  # sampled replies; exact probabilities of the options
MOST_MASS = 1.02  # probabilities of the options together: 1, and room for bfloat16
SAME = 1e-9  # shares that are closer than this are tied


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgment:
    """What one model answered to one prompt, over all its samples, or exactly."""

    judge: str  # what tables call the run
    prompt_hash: str  # of several judgments, where their prompts are the same text
    conversation: str  # "<dataset>/<conversation id>"
    factors: NarratorFactors
    options: tuple[str, ...]  # in the order shown
    shares: tuple[float, ...]  # of the replies, that name each option; they lack from 1 what named none
    begun: tuple[float, ...]  # of the replies, that begin with each option; as shares where they are exact
    states: tuple[float, ...]  # of the completions, in the order of STATES; they add up to 1
    n_replies: int  # samples that the engine gave a reply to; 1 for exact probabilities, 0 where it failed
    is_exact: bool = False  # shares are probabilities

    @property
    def dataset(self) -> str:
        """The corpus."""
        return self.conversation.partition("/")[0]

    @property
    def item_id(self) -> str:
        """What differences name a prompt by; see eval.sampling_runs.SampledRun."""
        return self.conversation

    @property
    def condition(self) -> Perspective:
        """Who is Me."""
        return self.factors.perspective

    def weight(self, option: str, denominator: Denominator) -> float:
        """How much of the answers is an option, in [0, 1]; NaN where nothing counts. An option not shown has none."""
        base = sum(self.shares) if denominator == "answered" else float(self.n_replies > 0)
        if base <= 0:
            return math.nan
        return self.of_option(self.shares, option) / base

    def of_option(self, shares: Sequence[float], option: str) -> float:
        """An option's entry among shares in the order of the options; 0 for an option not shown."""
        return shares[self.options.index(option)] if option in self.options else 0.0

    def n_counted(self, denominator: Denominator) -> float:
        """The replies that weight is over."""
        return self.n_replies * (sum(self.shares) if denominator == "answered" else 1.0)

    def target_weight(self, denominator: Denominator) -> float:
        """How much of the answers is the annotated attacker, or Yes: the prompt's part in M."""
        return self.weight(self.factors.target, denominator)

    @property
    def begun_weight(self) -> float:
        """How much of all replies begins with the target, in [0, 1]; NaN where there is no reply."""
        if not self.n_replies:
            return math.nan
        return self.of_option(self.begun, self.factors.target)

    def me_weight(self, denominator: Denominator) -> float:
        """How much of the answers is Me: the prompt's part in FAR, where the narrator is no attacker."""
        return self.weight(ME, denominator)

    @property
    def leaders(self) -> tuple[str, ...]:
        """The option that most replies name; several are a tie, none where no reply names an option."""
        most = max(self.shares)
        return tuple(o for o, s in zip(self.options, self.shares, strict=True) if most > 0 and most - s < SAME)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NarratorRun:
    """A complete run of the study and what its judge answered."""

    path: Path
    judge: str
    model: str
    verdict: str  # "answer" or "options"
    n_samples: int
    temperature: float | None  # None where it is not known
    config: Mapping[str, Any]  # config.yaml, as the inference package wrote it
    provenance: Mapping[str, Any]
    rendered: Mapping[str, str]  # prompt hash → digest of what the model read; lacks what a server rendered unseen
    judgments: tuple[Judgment, ...]  # one for each planned line, in the plan's order
    excluded: Mapping[str, str]  # conversation id → why the run left it out
    doubts: Sequence[str]  # what to know of its answers before believing a measure

    @property
    def name(self) -> str:
        """The run directory's name."""
        return self.path.name

    @property
    def plan(self) -> Sequence[Judgment]:
        """What was asked; see eval.sampling_runs.SampledRun."""
        return self.judgments

    @property
    def conversations(self) -> frozenset[str]:
        """Those that it judged."""
        return frozenset(judgment.conversation for judgment in self.judgments)


def load_narrator_runs(paths: Sequence[Path]) -> list[NarratorRun]:
    """The runs at these paths, each under a name of its own.

    Raises DataError when a path is named twice or is no run of the study, a file in it is damaged, or a planned prompt
    has no completion.
    """
    twice = [path for path, n in Counter(path.resolve() for path in paths).items() if n > 1]
    if twice:
        raise DataError(f"{twice[0]}: is named twice; name each run once")
    configs = [read_config(path) for path in paths]
    models = [model_of(path, config) for path, config in zip(paths, configs, strict=True)]
    ways = ["exact" if config["verdict"] == "options" else "sampled" for config in configs]
    names = judge_names(models, [path.name for path in paths], ways)
    return [load_narrator_run(*of_run) for of_run in zip(paths, configs, names, strict=True)]


def read_config(path: Path) -> dict[str, Any]:
    """A run's config. Raises DataError when the folder holds no run of the narrator study."""
    first = next(read_plan_lines(path), {})  # says what to do where there is no run at all
    if first.get("benchmark") != BENCHMARK:
        raise DataError(f"{path}: is no run of the narrator study; see `evenhand score` for the others")
    config = run_config(path)
    if config["verdict"] not in VERDICTS:
        raise DataError(f"{path / CONFIG_FILE}: verdict '{config['verdict']}' is none of {', '.join(VERDICTS)}")
    return config


def model_of(path: Path, config: Mapping[str, Any]) -> str:
    """What tables call a run's model."""
    return parse_config(ModelConfig, dict(config["model"]), f"{path / CONFIG_FILE}: model").shown_as


def load_narrator_run(path: Path, config: Mapping[str, Any], judge: str) -> NarratorRun:
    """One run. Conversations that did not fit the context window are no part of it, and are named in `excluded`."""
    excluded = read_excluded(path)
    lines = [line for line in enumerate(read_plan_lines(path), start=1) if line[1].get("item_id") not in excluded]
    planned = [planned_from(record, f"{path / PLAN_FILE}:{number}") for number, record in lines]
    n_samples = config["sampling"].get("n", 1)
    replies, rendered = read_answers(path)
    refuse_unfinished(path, {hash_: n_samples for hash_, *_ in planned}, replies)
    is_exact, is_raw = config["verdict"] == "options", config.get("format") == "raw"
    answers: dict[tuple[str, tuple[str, ...]], Answers] = {}  # lines of equal texts share their replies
    judgments = []
    for hash_, conversation, factors, options in planned:
        if (hash_, options) not in answers:
            of_prompt = replies[hash_][:n_samples]
            answers[hash_, options] = (
                exact(of_prompt[0], options, path) if is_exact else sampled(of_prompt, options, is_raw)
            )
        shares, begun, states, n_replies = answers[hash_, options]
        judgments.append(
            Judgment(
                judge=judge,
                prompt_hash=hash_,
                conversation=conversation,
                factors=factors,
                options=options,
                shares=shares,
                begun=begun,
                states=states,
                n_replies=n_replies,
                is_exact=is_exact,
            )
        )
    return NarratorRun(
        path=path,
        judge=judge,
        model=model_of(path, config),
        verdict=config["verdict"],
        n_samples=n_samples,
        temperature=float(config["sampling"].get("temperature", 0.0)),
        config=config,
        provenance=read_json(path / PROVENANCE_FILE),
        rendered=rendered,
        judgments=tuple(judgments),
        excluded=excluded,
        doubts=answer_doubts(chain.from_iterable(replies.values())),
    )


# shares, begun, states and n_replies of a Judgment
Answers = tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...], int]


def planned_from(record: Mapping[str, Any], place: str) -> tuple[str, str, NarratorFactors, tuple[str, ...]]:
    """(prompt hash, conversation, factors, options) of a line of the plan. Raises DataError when it is none."""
    try:
        factors, options = NarratorFactors(**record["factors"]), tuple(map(str, record["answer_space"]))
        return record["prompt_hash"], f"{record['dataset']}/{record['item_id']}", factors, options
    except (KeyError, TypeError) as error:
        raise DataError(f"{place}: is no planned prompt of the narrator study ({error}); the file is damaged") from None


def sampled(replies: Sequence[Completion], options: Sequence[str], is_raw: bool) -> Answers:
    """What some replies to one prompt say."""
    said = Counter((reply.text, reply.finish_reason) for reply in replies)
    chosen: Counter[str] = Counter()
    states: Counter[State] = Counter()
    for (text, finish_reason), n in said.items():
        answer = read_answer(text, options, finish_reason)
        states[answer.state] += n
        if answer.option is not None:
            chosen[answer.option] += n
    n_replies = len(replies) - states["error"]
    shares = tuple(chosen[option] / max(n_replies, 1) for option in options)
    return (
        shares,
        begun_shares(replies, options, is_raw=is_raw),
        tuple(states[state] / len(replies) for state in STATES),
        n_replies,
    )


def exact(reply: Completion, options: Sequence[str], path: Path) -> Answers:
    """What the probabilities of the options say; what they lack from 1 is off the list."""
    if reply.is_error:
        return (0.0,) * len(options), (0.0,) * len(options), states_of(error=1.0), 0
    logprobs = reply.answer_logprobs or {}
    lacking = [option for option in options if option not in logprobs]
    shares = tuple(math.exp(logprobs[option]) for option in options if option in logprobs)
    mass = math.fsum(shares)
    if lacking or not mass <= MOST_MASS:
        problem = f"no log-probability of '{lacking[0]}'" if lacking else f"options with a probability of {mass:.3f}"
        raise DataError(
            f"{path}: prompt {reply.prompt_hash} has {problem}; the shard is damaged: delete it and run the sampling "
            "command again"
        )
    return shares, shares, states_of(chosen=min(1.0, mass), off_list=max(0.0, 1 - mass)), 1


def states_of(**shares: float) -> tuple[float, ...]:
    """Shares by name in the order of STATES."""
    return tuple(shares.get(state, 0.0) for state in STATES)


def named_options(run: FinishedRun) -> Verdicts:
    """The option that each reply names, as `read_answer` reads it, or has the highest probability of."""
    is_exact = run.config["verdict"] == "options"
    return {
        (reply.prompt_hash, reply.sample_index): reply.text
        if is_exact
        else read_answer(reply.text, line["answer_space"], reply.finish_reason).option
        for line in read_plan_lines(run.path)
        for reply in run.replies.get(line["prompt_hash"], ())
    }
