"""Finished runs of the narrator study on disk → what each model answered to each prompt."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from eval.estimates.comparability import flattened
from eval.narrator.answers import STATES, State, read_answer
from eval.runs import FinishedRun, Verdicts, refuse_unfinished, run_config
from evenhand.checkpoints import ModelConfig
from evenhand.completions import answer_doubts, read_answers, read_excluded
from evenhand.config import parse_config
from evenhand.errors import DataError
from evenhand.records import Completion
from evenhand.run_directory import CONFIG_FILE, PLAN_FILE, PROVENANCE_FILE, read_json, read_plan_lines
from studies.narrator.records import BENCHMARK, NarratorFactors, Perspective

Denominator = Literal["answered", "all"]
VERDICTS = ("answer", "options")  # sampled replies; exact probabilities of the options
MOST_MASS = 1.02  # probabilities of the options together: 1, and room for bfloat16
POOLED = "all models"  # what tables call the judge of pooled_run
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
    states: tuple[float, ...]  # of the completions, in the order of STATES; they add up to 1
    n_replies: int  # samples that the engine gave a reply to; 1 for exact probabilities, 0 where it failed
    is_exact: bool = False  # shares are probabilities

    @property
    def dataset(self) -> str:
        """The corpus."""
        return self.conversation.partition("/")[0]

    @property
    def unit(self) -> str:
        """What one model makes of a conversation: the cluster of means over models."""
        return f"{self.judge}: {self.conversation}"

    @property
    def item_id(self) -> str:
        """As runs of all studies are compared by; so is condition."""
        return self.conversation

    @property
    def condition(self) -> Perspective:
        """Who is Me."""
        return self.factors.perspective

    def weight(self, option: str, denominator: Denominator) -> float:
        """How much of the answers is an option, in [0, 1]; NaN where nothing counts. An option not shown has none."""
        base = sum(self.shares) if denominator == "answered" else float(self.n_replies > 0)
        return self.share_of(option) / base if base > 0 else math.nan

    def share_of(self, option: str) -> float:
        """How much of the replies is an option; 0 for an option not shown."""
        return self.shares[self.options.index(option)] if option in self.options else 0.0

    def target_weight(self, denominator: Denominator) -> float:
        """How much of the answers is the annotated attacker, or Yes: the prompt's part in M."""
        return self.weight(self.factors.target, denominator)

    @property
    def leaders(self) -> tuple[str, ...]:
        """The option that most replies name; several are a tie, none where no reply names an option."""
        most = max(self.shares)
        return tuple(o for o, s in zip(self.options, self.shares, strict=True) if most > 0 and most - s < SAME)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NarratorRun:
    """A complete run of the study and what its judge answered."""

    path: Path
    judge: str  # its model, as tables call it
    verdict: str  # "answer" or "options"
    n_samples: int
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
        """What was asked; see eval.runs.SampledRun."""
        return self.judgments

    @property
    def is_held_to_options(self) -> bool:
        """Whether a grammar kept its replies to the options, so that none is lost."""
        return str(self.config["sampling"].get("structured", "none")) != "none"

    @property
    def conversations(self) -> frozenset[str]:
        """Those that it judged."""
        return frozenset(judgment.conversation for judgment in self.judgments)


def load_narrator_run(path: Path) -> NarratorRun:
    """A complete run. Conversations that did not fit the context window are no part of it, and are named in `excluded`.

    Raises DataError when it is no run of the study, a file in it is damaged, or a planned prompt has no completion.
    """
    first = next(read_plan_lines(path), {})  # says what to do where there is no run at all
    if first.get("benchmark") != BENCHMARK:
        raise DataError(f"{path}: is no run of the narrator study; see `evenhand score` for the others")
    config = run_config(path)
    if config["verdict"] not in VERDICTS:
        raise DataError(f"{path / CONFIG_FILE}: verdict '{config['verdict']}' is none of {', '.join(VERDICTS)}")
    excluded = read_excluded(path)
    lines = [line for line in enumerate(read_plan_lines(path), start=1) if line[1].get("item_id") not in excluded]
    planned = [planned_from(record, f"{path / PLAN_FILE}:{number}") for number, record in lines]
    n_samples = config["sampling"].get("n", 1)
    found = read_answers(path)
    replies, rendered = found.replies, found.rendered
    refuse_unfinished(path, {line["prompt_hash"]: n_samples for line in planned}, replies)

    @cache
    def answers(hash_: str, options: tuple[str, ...]) -> dict[str, Any]:
        """Of lines of equal texts, which share their replies."""
        of_prompt = replies[hash_][:n_samples]
        return exact(of_prompt[0], options, path) if config["verdict"] == "options" else sampled(of_prompt, options)

    judge = parse_config(ModelConfig, dict(config["model"]), f"{path / CONFIG_FILE}: model").shown_as
    judgments = [Judgment(judge=judge, **line, **answers(line["prompt_hash"], line["options"])) for line in planned]
    return NarratorRun(
        path=path,
        judge=judge,
        verdict=config["verdict"],
        n_samples=n_samples,
        config=config,
        provenance=read_json(path / PROVENANCE_FILE),
        rendered=rendered,
        judgments=tuple(judgments),
        excluded=excluded,
        doubts=answer_doubts(chain.from_iterable(replies.values())),
    )


def planned_from(record: Mapping[str, Any], place: str) -> dict[str, Any]:
    """What a line of the plan says of its judgment. Raises DataError when it is none."""
    try:
        return {
            "prompt_hash": record["prompt_hash"],
            "conversation": f"{record['dataset']}/{record['item_id']}",
            "factors": NarratorFactors(**record["factors"]),
            "options": tuple(map(str, record["answer_space"])),
        }
    except (KeyError, TypeError) as error:
        raise DataError(f"{place}: is no planned prompt of the narrator study ({error}); the file is damaged") from None


def sampled(replies: Sequence[Completion], options: Sequence[str]) -> dict[str, Any]:
    """What some replies to one prompt say."""
    chosen: Counter[str | None] = Counter()
    states: Counter[State] = Counter()
    for (text, finish_reason), n in Counter((reply.text, reply.finish_reason) for reply in replies).items():
        answer = read_answer(text, options, finish_reason)
        states[answer.state] += n
        chosen[answer.option] += n
    n_replies = len(replies) - states["error"]
    shares = tuple(chosen[option] / max(n_replies, 1) for option in options)
    return {"shares": shares, "states": tuple(states[s] / len(replies) for s in STATES), "n_replies": n_replies}


def exact(reply: Completion, options: Sequence[str], path: Path) -> dict[str, Any]:
    """What the probabilities of the options say; what they lack from 1 is off the list."""
    if reply.is_error:
        return {"shares": (0.0,) * len(options), "states": states_of(error=1.0), "n_replies": 0, "is_exact": True}
    logprobs = reply.answer_logprobs or {}
    lacking = [option for option in options if option not in logprobs]
    shares = tuple(math.exp(logprobs[option]) for option in options if option in logprobs)
    mass = math.fsum(shares)
    if lacking or not mass <= MOST_MASS:
        problem = f"no log-probability of '{lacking[0]}'" if lacking else f"options with a probability of {mass:.3f}"
        advice = "the shard is damaged: delete it and run the sampling command again"
        raise DataError(f"{path}: prompt {reply.prompt_hash} has {problem}; {advice}")
    states = states_of(chosen=min(1.0, mass), off_list=max(0.0, 1 - mass))
    return {"shares": shares, "states": states, "n_replies": 1, "is_exact": True}


def states_of(**shares: float) -> tuple[float, ...]:
    """Shares by name in the order of STATES."""
    return tuple(shares.get(state, 0.0) for state in STATES)


def named_options(run: FinishedRun) -> Verdicts:
    """The option that each reply names, as `read_answer` reads it, or has the highest probability of."""
    asked = ((line, reply) for line in read_plan_lines(run.path) for reply in run.replies.get(line["prompt_hash"], ()))
    if run.config["verdict"] == "options":
        return {(reply.prompt_hash, reply.sample_index): reply.text for _, reply in asked}
    return {
        (reply.prompt_hash, reply.sample_index): read_answer(
            reply.text, line["answer_space"], reply.finish_reason
        ).option
        for line, reply in asked
    }


# Keys of a config that say what is asked of a conversation: measures pair within what both were asked.
WHAT_WAS_ASKED = ("narrator.tasks", "narrator.visibilities", "narrator.option_orders")
OTHER_STUDIES = ("narrator.corpus.dataset", "narrator.seed", "verdict")  # no conversation can be paired then


def refuse_unpaired(base: NarratorRun, after: NarratorRun) -> None:
    """Raises DataError where corpus, seed, verdict kind or conversations differ: their answers cannot be paired."""
    runs = f"narrator runs {base.name} and {after.name} cannot be compared"
    for key in OTHER_STUDIES:
        ours, theirs = (flattened(run.config).get(key) for run in (base, after))
        if ours != theirs:
            raise DataError(f"{runs}: {key} is {ours} there and {theirs} here; sample both alike")
    ours, theirs = base.conversations, after.conversations
    if ours != theirs:
        lone = min(ours ^ theirs)
        raise DataError(
            f"{runs}: they are over {len(ours):,} and {len(theirs):,} conversations, of which {len(ours & theirs):,} "
            f"are the same (only {(base if lone in ours else after).name} has {lone}); sample both over the same ones, "
            "or show them beside each other with `evenhand report --side-by-side`"
        )


def reason_not_to_pool(runs: Sequence[NarratorRun]) -> str:
    """Why runs are not averaged, or "" where they are of different models and were asked alike."""
    if len({run.judge for run in runs}) < len(runs):
        return "a model is among them twice"
    if len({run.verdict for run in runs}) > 1:
        return "some were sampled and some read exactly"
    if not frozenset.intersection(*(run.conversations for run in runs)):
        return "no conversation was judged by all of them"
    factors = [[judgment.factors for judgment in run.judgments] for run in runs]
    if len({frozenset((f.task, f.visibility, f.option_order) for f in of_run) for of_run in factors}) > 1:
        return "they were not asked the same tasks, visibilities and option orders"
    return ""


def pooled_run(runs: Sequence[NarratorRun]) -> NarratorRun:
    """The judgments of several models as one judge's, over the conversations that all of them judged."""
    shared = frozenset.intersection(*(run.conversations for run in runs))
    return replace(
        runs[0],
        path=Path(" ".join(run.name for run in runs)),
        judge=POOLED,
        n_samples=max(run.n_samples for run in runs),
        judgments=tuple(j for run in runs for j in run.judgments if j.conversation in shared),
    )
