"""Finished runs of the narrator study, or files of verdicts from anywhere → what each model answered to each prompt."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import pandas as pd

from eval.runs import FinishedRun, Verdicts
from eval.verdict_files import Column, Layout, as_id, one_of, place, read_rows, repeat_doubts
from evenhand.completions import answer_doubts
from evenhand.errors import DataError
from evenhand.records import Completion, digest, plain
from studies.built_folder import read_manifest
from studies.narrator import records
from studies.narrator.corpus import POCKET, CorpusSpec, load_conversations
from studies.narrator.options import Denominator
from studies.narrator.prompts import ME, NO, YES, factors_of, names_under
from studies.narrator.records import Conversation, NarratorFactors, Perspective, Turn
from studies.narrator.replies import STATES, read_answer

POOLED = "all models"  # what tables call the judge of pooled_run
SAME = 1e-9  # shares that are closer than this are tied


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgment:
    """What one model answered to one prompt, over all its samples, or exactly."""

    prompt_hash: str  # of several judgments, where their prompts are the same text
    conversation: str  # "<dataset>/<conversation id>"
    factors: NarratorFactors
    options: tuple[str, ...]  # in the order shown
    shares: tuple[float, ...]  # of the replies, that name each option; they lack from 1 what named none
    states: tuple[float, ...]  # of the completions, in the order of STATES; they add up to 1
    n_replies: int  # samples that the engine gave a reply to; 1 for exact probabilities, 0 where it failed
    is_exact: bool = False  # shares are probabilities
    judge: str = ""  # what tables call its run, where several are pooled

    @property
    def dataset(self) -> str:
        """The corpus."""
        return self.conversation.partition("/")[0]

    @property
    def unit(self) -> str:
        """The conversation, or what one of several pooled models makes of it."""
        return f"{self.judge}: {self.conversation}" if self.judge else self.conversation

    @property
    def item_id(self) -> str:
        return self.conversation

    @property
    def condition(self) -> Perspective:
        return self.factors.perspective

    @property
    def is_accusable(self) -> bool:
        """Whether it counts for FAR: a non-attacker is Me, and Me is an option."""
        return self.condition == "non_attacker" and self.factors.task != "detection"

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
class NarratorRun(FinishedRun):
    """A complete run of the study and what its judge answered."""

    plan: Sequence[Any]  # a Judgment for each planned line, in the plan's order
    doubts: Sequence[str]  # what to know of its answers before believing a measure

    @property
    def verdict(self) -> str:
        """ "answer" or "options"."""
        return str(self.config["verdict"])

    @property
    def conversations(self) -> frozenset[str]:
        return frozenset(judgment.conversation for judgment in self.plan)


def judged(run: FinishedRun) -> NarratorRun:
    """What a run's judge answered. Conversations that did not fit the context window are no part of it."""

    @cache
    def answers(hash_: str, options: tuple[str, ...]) -> dict[str, Any]:
        """Of lines of equal texts, which share their replies."""
        return shares_in(run.replies[hash_][: run.n_samples], options)

    judgments = [
        Judgment(
            prompt_hash=prompt.prompt_hash,
            conversation=f"{prompt.dataset}/{prompt.item_id}",
            factors=NarratorFactors(**dict(prompt.factors)),
            options=prompt.answer_space,
            **answers(prompt.prompt_hash, prompt.answer_space),
        )
        for prompt in run.plan
    ]
    doubts = answer_doubts(chain.from_iterable(run.replies.values()))
    return NarratorRun(**(plain(run) | {"plan": judgments, "replies": {}}), doubts=doubts)


def shares_in(replies: Sequence[Completion], options: Sequence[str]) -> dict[str, Any]:
    """What some replies to one prompt say. Where the options' probabilities were read they count as parts of a reply;
    what these lack from 1 is off the list.
    """
    shares: dict[str | None, float] = dict.fromkeys(options, 0.0)
    states = dict.fromkeys(STATES, 0.0)
    read = [reply for reply in replies if reply.answer_logprobs is not None]
    for reply in read:
        mass = {option: math.exp((reply.answer_logprobs or {})[option]) for option in options}
        total = min(1.0, math.fsum(mass.values()))
        states["chosen"] += total
        states["off_list"] += 1 - total
        for option, share in mass.items():
            shares[option] += share
    for (text, reason), n in Counter((r.text, r.finish_reason) for r in replies if r.answer_logprobs is None).items():
        answer = read_answer(text, options, reason)
        states[answer.state] += n
        shares[answer.option] = shares.get(answer.option, 0.0) + n
    n_replies = len(replies) - int(states["error"])
    return {
        "shares": tuple(shares[option] / max(n_replies, 1) for option in options),
        "states": tuple(count / len(replies) for count in states.values()),
        "n_replies": n_replies,
        "is_exact": bool(read),
    }


def named_options(run: FinishedRun) -> Verdicts:
    """The option that each reply names, as `read_answer` reads it, or has the highest probability of."""
    return {
        (reply.prompt_hash, reply.sample_index): reply.text
        if reply.answer_logprobs is not None
        else read_answer(reply.text, prompt.answer_space, reply.finish_reason).option
        for prompt in run.plan
        for reply in run.replies.get(prompt.prompt_hash, ())
    }


# Keys of a config that say what is asked of a conversation: measures pair within what both were asked.
WHAT_WAS_ASKED = ("narrator.tasks", "narrator.visibilities", "narrator.option_orders")


def shared_by(runs: Sequence[NarratorRun]) -> frozenset[str]:
    """The conversations that all of some runs judged."""
    return frozenset.intersection(*(run.conversations for run in runs))


def reason_not_to_pool(runs: Sequence[NarratorRun]) -> str:
    """Why runs are not averaged, or "" where they are of different models and were asked alike."""
    settings = {
        frozenset((j.factors.task, j.factors.visibility, j.factors.option_order) for j in run.plan) for run in runs
    }
    reasons = {
        "a model is among them twice": len({run.judge for run in runs}) < len(runs),
        "some were sampled and some read exactly": len({run.verdict for run in runs}) > 1,
        "no conversation was judged by all of them": not shared_by(runs),
        "they were not asked the same tasks, visibilities and option orders": len(settings) > 1,
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def over_shared(runs: Sequence[NarratorRun]) -> list[NarratorRun]:
    """The runs over the conversations that all of them judged."""
    shared = shared_by(runs)
    return [replace(run, plan=[j for j in run.plan if j.conversation in shared]) for run in runs]


def pooled_run(runs: Sequence[NarratorRun]) -> NarratorRun:
    """The judgments of several models as one judge's, over the conversations that all of them judged."""
    return replace(
        runs[0],
        path=Path(" ".join(run.name for run in runs)),
        config=as_config(POOLED, runs[0].verdict, max(run.n_samples for run in runs)),
        plan=[replace(judgment, judge=run.judge) for run in over_shared(runs) for judgment in run.plan],
    )


def speaker(text: str) -> str:
    """A speaker's name; "" for nobody, who is also called neutral. Raises DataError for the name that hides one."""
    if text == ME:
        raise DataError(f"must be a speaker's own name, not '{ME}'")
    return "" if text.casefold() == "neutral" else text


LAYOUT = Layout(
    columns={  # docs/verdict-files.md says what they hold
        "conversation": Column(as_id, True),
        "task": Column(one_of(records.TASKS), True),
        "narrator": Column(speaker, True, default=""),
        "visibility": Column(one_of(records.VISIBILITIES), True),
        "answer": Column(str, True, default=""),
        "attacker": Column(speaker, default=""),
        "model": Column(str, default="external"),
        "option_order": Column(one_of(records.OPTION_ORDERS), default=records.OPTION_ORDERS[0]),
    }
)
PROMPT = ["model", "conversation", "task", "narrator", "visibility", "option_order"]  # rows alike in these are samples


def load_verdicts(paths: Sequence[Path], corpus: str | None) -> tuple[dict[str, NarratorRun], list[str]]:
    """(model → its answers as a run, columns that nothing was done with).

    corpus: "pocket-conflicts", a built folder, or None. Raises DataError naming file and line for a value that
    cannot be, or a conversation without a known attacker.
    """
    rows, ignored = read_rows(paths, LAYOUT)
    known = conversations_in(paths, rows) if corpus is None else conversations_of(corpus)
    for row in rows.drop_duplicates(["conversation", "narrator"]).itertuples():
        if row.conversation not in known:
            raise DataError(f"{place(paths, row.Index)}: conversation '{row.conversation}' is not in the corpus")
        names = [*known[row.conversation].names.values()]
        if row.narrator and row.narrator not in names:
            where = place(paths, row.Index)
            raise DataError(f"{where}: '{row.narrator}' is no speaker of '{row.conversation}': {', '.join(names)}")
    # An id counts as one, with and without the corpus's name.
    rows["conversation"] = [known[key].conversation_id for key in rows["conversation"]]
    runs = {str(m): run_of(paths[0], str(m), of_model, known) for m, of_model in rows.groupby("model", sort=False)}
    return runs, ignored


def conversations_in(paths: Sequence[Path], rows: pd.DataFrame) -> dict[str, Conversation]:
    """Id → the conversation as far as the rows of some files say: its speakers, of whom the attacker speaks last."""
    known = {}
    for key, group in rows.groupby("conversation", sort=False):
        named = group[group["attacker"] != ""].drop_duplicates("attacker")
        if len(named) != 1:
            where = place(paths, (named if len(named) else group).index[min(len(named), 1)])
            says = " and ".join(named["attacker"]) or "not named"
            fix = "add a column 'attacker', or name the corpus with --conversations"
            raise DataError(f"{where}: the attacker of '{key}' is {says}; {fix}")
        (attacker,) = named["attacker"]
        names = sorted({*group["narrator"], attacker} - {""})
        if len(names) == 1 and set(group["task"]) != {"detection"}:
            raise DataError(
                f"{place(paths, group.index[0])}: of '{key}' the attacker alone is known, and so no other answer; "
                "add rows with the other speakers as narrators, or name the corpus with --conversations"
            )
        turns = tuple(Turn(speaker=name, text="") for name in (*names, attacker))
        own_names = {name: name for name in names}
        known[key] = Conversation(conversation_id=key, dataset="external", turns=turns, names=own_names)
    return known


def conversations_of(corpus: str) -> dict[str, Conversation]:
    """The same of a corpus. A conversation is found by its id, and by the source's own without the corpus's name."""
    if corpus == POCKET:
        spec = CorpusSpec(dataset=POCKET, split="all")
    else:
        dataset = read_manifest(Path(corpus), records.BENCHMARK)["dataset"]
        spec = CorpusSpec(dataset=dataset, split="all", root=Path(corpus))
    known = {conversation.conversation_id: conversation for conversation in load_conversations(spec)}
    return known | {key.removeprefix(f"{spec.dataset}-"): conversation for key, conversation in known.items()}


def run_of(path: Path, model: str, rows: pd.DataFrame, known: Mapping[str, Conversation]) -> NarratorRun:
    """The answers of one model as a run."""
    prompts = rows.groupby(PROMPT, sort=False).agg(answers=("answer", list)).reset_index()
    judgments = tuple(judgment_of(row, known[row.conversation]) for row in prompts.itertuples())
    config = as_config(model, "answer", int(prompts["answers"].map(len).max()))
    config["narrator"] = {"corpus": {"dataset": judgments[0].dataset}}
    settings = prompts.groupby(["task", "visibility", "option_order"], sort=False)["answers"]
    doubts = [
        doubt for setting, alike in settings for doubt in repeat_doubts("{}, attack {}, {}".format(*setting), alike)
    ]
    return NarratorRun(path=path, config=config, provenance={}, plan=judgments, replies={}, rendered={}, doubts=doubts)


def as_config(judge: str, verdict: str, n_samples: int) -> dict[str, Any]:
    """The config of what no single run of ours has."""
    return {"model": {"name": judge, "label": judge}, "verdict": verdict, "sampling": {"n": n_samples}}


def judgment_of(row: Any, conversation: Conversation) -> Judgment:
    """What a model answered to one prompt."""
    narrator = next((speaker for speaker, name in conversation.names.items() if name == row.narrator), "")
    names = names_under(conversation, narrator)
    options = (YES, NO) if row.task == "detection" else tuple(names.values())
    hash_ = digest([getattr(row, name) for name in PROMPT], 16)
    completions = [
        Completion(prompt_hash=hash_, sample_index=k, text=text, finish_reason="stop")
        for k, text in enumerate(row.answers)
    ]
    return Judgment(
        prompt_hash=hash_,
        conversation=f"{conversation.dataset}/{row.conversation}",
        factors=factors_of(conversation, row.task, row.visibility, narrator, row.option_order),
        options=options,
        **shares_in(completions, options),
    )
