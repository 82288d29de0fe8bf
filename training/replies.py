"""Examples of a judge that writes: whole replies of its own as targets, from a finished run of the train split.

`bct` gives a prompt the judge's reply to the baseline of the same claim, right or wrong (Chua et al. 2403.05518);
`right_replies` replies to the prompt itself that are right, as many of each verdict in each framing; `dpo` a pair of
them, the preferred one first. A reply that was cut, or names no verdict, is no target. What was kept is counted by
framing, and why the rest was not.
"""

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from importlib import import_module
from statistics import multimode
from typing import Any, NamedTuple

import torch

from evenhand.chat_templates import as_text, reply_contract
from evenhand.completions import read_answers
from evenhand.errors import ConfigError, DataError, ModelError
from evenhand.float32 import float32_head
from evenhand.generation import generated, stop_ids
from evenhand.records import Completion, Prompt, digest
from evenhand.run_directory import CONFIG_FILE, check_complete
from evenhand.thoughts import is_tagged, thought_apart
from training.config import AnyRun, WritingStudy
from training.examples import TOO_LONG, Example, Sifted, TrainingPrompt, prompt_tokens, sifted
from training.qlora import autocast

KEPT, RIGHT, CUT, UNPARSED = "kept", "right by the labels", "replies cut", "replies unparsed"  # keys of the counts
NO_BASELINE = "no reply to the baseline has a verdict"
NO_MAJORITY = "the replies to the baseline are divided"
NAMES_CONDITION = "the replies to the baseline name how it was asked"
NO_RIGHT = "no reply is right"
ONE_SIDED = "its condition lacks right replies of some verdict"
ENOUGH = "the rarest verdict of a condition has no more"
NO_PAIR = "its replies make no pair"
THINKS = (
    "thinks before it replies, and thoughts are not learnt unless you say so: switch thinking off in model."
    "chat_template_args ({enable_thinking: false} for many models) and sample again, or set examples.thoughts=true"
)
UNTAGGED = "holds a thought without its tags, from a server's reasoning parser: sample without it, or learn no thoughts"
WORD = re.compile(r"[^\W\d_]{4,}")
FUNCTION_WORDS = {"this", "that", "with", "from", "what", "which", "have", "does", "your", "they", "their", "there"}
AT_ONCE = 8  # prompts that a model answers together


class Reply(NamedTuple):
    """A whole reply that has a verdict."""

    outcome: int  # which verdict, in the order of Example.choices
    text: str


Target = tuple[Reply, ...]  # one reply, or a pair with the preferred one first


class ReplyTargets:
    """The replies of the run that a config names, and the examples that its method makes of them."""

    def __init__(self, config: AnyRun, tokenizer: Any) -> None:
        """Raises DataError for a run that is not complete, ConfigError for one of another judge or of other prompts."""
        assert config.examples.replies is not None
        assert isinstance(config.training, WritingStudy)
        self.config, self.study, self.tokenizer, self.run = config, config.training, tokenizer, config.examples.replies
        check_complete(self.run)
        sampled, where = config.sampled, f"examples.replies: {self.run}"
        if sampled["model"]["name"] != config.model.name:
            raise ConfigError(f"{where}: is of {sampled['model']['name']}, and {config.model.name} is trained")
        asked = (sampled.get("patch"), sampled.get("chat_template", True), sampled["model"].get("chat_template_args"))
        if asked != (None, config.examples.chat_template, config.model.chat_template_args):
            raise ConfigError(
                f"{where}: was asked with a patch, or another chat_template or model.chat_template_args; sample as it "
                "is trained"
            )
        self.is_structured = sampled["sampling"].get("structured") == "json"
        if self.is_structured:
            import_module("xgrammar")  # which the merge check takes; not there is better known before training
        self.answers = read_answers(self.run)
        self.read: dict[str, list[tuple[Completion, int | None]]] = {}  # see replies, by the prompt's hash
        contract = reply_contract(tokenizer, config.examples.chat_template, config.model.chat_template_args)
        if contract.end is None:
            raise ModelError(f"{tokenizer.name_or_path}: has no token that ends a turn, which replies are to learn")
        if contract.thinks and not config.examples.thoughts:
            raise ModelError(f"{tokenizer.name_or_path}: {THINKS}")
        self.end = contract.end
        # Condition → prompts kept, and left out for a reason
        self.counts = defaultdict[str, Counter[str]](lambda: Counter({KEPT: 0}))

    @property
    def inputs(self) -> dict[str, str]:
        """The run, with a hash of its replies, for provenance.json."""
        return {str(self.run): digest(sorted(self.answers.shards), 16)}

    def examples(self, units: Sequence[Any]) -> Sifted:
        """The examples of some units, and the prompts that have none. Raises DataError when nothing is left."""
        prompts = [prompt for unit in units for prompt in self.study.prompts(unit, self.config)]
        methods = {"bct": self.of_baseline, "dpo": self.pairs, "right_replies": self.right_replies}
        bundles, limit = [], self.config.examples.max_prompt_length
        for prompt, targets in zip(prompts, methods[self.config.method](prompts), strict=True):
            if len(self.prompt_ids(prompt.prompt)) > limit:
                targets = TOO_LONG
            self.count(prompt, targets)
            if isinstance(targets, str):
                bundles.append([(self.example(prompt, ()), targets)])
            else:
                bundles += [[(self.example(prompt, target), "")] for target in targets]
        return sifted(bundles, limit)

    def count(self, prompt: TrainingPrompt, targets: Sequence[Target] | str) -> None:
        """Count a prompt, its replies that cannot be targets, and its targets that are right."""
        counts = self.counts[prompt.prompt.condition]
        for reply, place in self.replies(prompt.prompt):
            if place is None:
                counts[CUT if reply.finish_reason == "length" else UNPARSED] += 1
        counts[targets if isinstance(targets, str) else KEPT] += 1
        if not isinstance(targets, str) and prompt.right is not None:
            counts[RIGHT] += targets[0][0].outcome == prompt.right

    def of_baseline(self, prompts: Sequence[TrainingPrompt]) -> Iterator[list[Target] | str]:
        """For each prompt the first reply to its baseline, in an order drawn once, that does not name that framing."""
        for prompt in prompts:
            replies = self.verdicts(prompt, prompt.baseline)
            own = words_of(prompt.baseline) - words_of(prompt.prompt)
            nameless = [reply for reply in replies if not own & words_in(reply.text)]
            yield [(nameless[0],)] if nameless else NAMES_CONDITION if replies else NO_BASELINE

    def right_replies(self, prompts: Sequence[TrainingPrompt]) -> Iterator[list[Target] | str]:
        """For each prompt its right replies, of each verdict and framing as many as of the rarest; claims by turns."""
        right = [[r for r in self.verdicts(prompt, prompt.prompt) if r.outcome == prompt.right] for prompt in prompts]
        kinds: dict[tuple[str, int | None], list[tuple[int, str, int]]] = defaultdict(list)
        for number, prompt in enumerate(prompts):
            order = digest([self.config.optimiser.seed, prompt.prompt.prompt_hash])
            places = [(turn, order, number) for turn in range(len(right[number]))]
            kinds[prompt.prompt.condition, prompt.right] += places
        one_sided = {condition for (condition, _), replies in kinds.items() if not replies}
        balanced = [sorted(replies) for (condition, _), replies in kinds.items() if condition not in one_sided]
        n = min(map(len, balanced), default=0)
        n_kept = Counter(number for replies in balanced for *_, number in replies[:n])  # of each prompt's
        for number, prompt in enumerate(prompts):
            reason = NO_RIGHT if not right[number] else ONE_SIDED if prompt.prompt.condition in one_sided else ENOUGH
            yield [(reply,) for reply in right[number][: n_kept[number]]] or reason

    def pairs(self, prompts: Sequence[TrainingPrompt]) -> Iterator[list[Target] | str]:
        """For each prompt a reply of its own that is right, or without labels agrees with most replies to the baseline,
        and one that does not.
        """
        for prompt in prompts:
            preferred = [prompt.right]
            if not self.config.has_labels:
                preferred = multimode(reply.outcome for reply in self.verdicts(prompt, prompt.baseline))
            if len(preferred) != 1:
                yield NO_MAJORITY if preferred else NO_BASELINE
                continue
            own = self.verdicts(prompt, prompt.prompt)
            chosen = [reply for reply in own if reply.outcome == preferred[0]]
            rejected = [reply for reply in own if reply.outcome != preferred[0]]
            yield [(chosen[0], rejected[0])] if chosen and rejected else NO_PAIR

    def replies(self, prompt: Prompt) -> list[tuple[Completion, int | None]]:
        """The run's replies to a prompt, each with its place (see place_of). Raises DataError where it has none."""
        if prompt.prompt_hash in self.read:
            return self.read[prompt.prompt_hash]
        replies = [thought_apart(reply) for reply in self.answers.replies_to(prompt.prompt_hash)]
        if not replies:
            raise DataError(
                f"{self.run}: has no reply to {prompt.item_id}, {prompt.condition}: its section asks others; take "
                f"`{self.config.study_key}` from its {CONFIG_FILE}, or sample the prompts of this config"
            )
        if self.config.examples.thoughts and not all(is_tagged(reply.thought) for reply in replies if reply.thought):
            raise ConfigError(f"examples.thoughts: {self.run}: {UNTAGGED}")
        self.read[prompt.prompt_hash] = [(reply, self.place_of(prompt, reply)) for reply in replies]
        return self.read[prompt.prompt_hash]

    def verdicts(self, prompt: TrainingPrompt, source: Prompt) -> list[Reply]:
        """The whole replies to a prompt, or to its baseline, that have a verdict, in an order drawn once."""
        replies = [
            Reply(outcome, (reply.thought or "") * self.config.examples.thoughts + reply.text)
            for reply, place in self.replies(source)
            if (outcome := outcome_of(prompt, place)) is not None
        ]
        return sorted(replies, key=lambda reply: digest([self.config.optimiser.seed, source.prompt_hash, reply.text]))

    def place_of(self, prompt: Prompt, reply: Completion) -> int | None:
        """The place of the answer that a reply gives; None where it was cut, or the study reads none in it."""
        return None if reply.finish_reason == "length" else self.study.place_in(prompt, reply, self.config)

    def example(self, prompt: TrainingPrompt, target: Target) -> Example:
        """A prompt in tokens with its target; without one where it is left out."""
        tokens = [as_text(self.tokenizer, reply.text) for reply in target]
        return Example(
            item_id=prompt.prompt.item_id,
            dataset=prompt.prompt.dataset,
            condition=prompt.prompt.condition,
            prompt_ids=self.prompt_ids(prompt.prompt),
            choices=tuple(ids[0] for ids in tokens),
            rests=tuple(tuple(ids[1:]) for ids in tokens),
            right=0,
            end=(self.end,),
            group=prompt.group,
            is_anchor=prompt.is_anchor,
            verdict=self.study.outcomes(self.config)[target[0].outcome] if target else "",
        )

    def prompt_ids(self, prompt: Prompt) -> tuple[int, ...]:
        """A prompt as an engine reads it."""
        return prompt_tokens(self.tokenizer, prompt, self.config.examples, self.config.model.chat_template_args)

    def some_prompts(self, units: Sequence[Any], n: int) -> list[TrainingPrompt]:
        """n of the prompts of some units, or all of fewer, drawn with a fixed seed; the shortest first."""
        prompts = [prompt for unit in units for prompt in self.study.prompts(unit, self.config)]
        drawn = random.Random(0).sample(prompts, min(n, len(prompts)))
        return sorted(drawn, key=lambda prompt: len(self.prompt_ids(prompt.prompt)))

    @torch.no_grad()
    def written(self, model: Any, prompts: Sequence[TrainingPrompt]) -> list[int | None]:
        """The verdict of a model's greedy reply to each prompt, computed in the precision of training, and held to the
        prompt's JSON schema where the run's replies were.
        """
        outcomes: list[int | None] = []
        stops = stop_ids(model, self.end)
        settings = {"max_new_tokens": int(self.config.sampled["sampling"]["max_tokens"]), "do_sample": False}
        model.eval()
        for start in range(0, len(prompts), AT_ONCE):
            batch = prompts[start : start + AT_ONCE]
            rows = [self.prompt_ids(prompt.prompt) for prompt in batch]
            schemas = [prompt.prompt.drawing.json_schema or "{}" for prompt in batch] if self.is_structured else []
            with autocast(self.config, model), float32_head(model):
                replies = list(generated(model, self.tokenizer, rows, stops, schemas=schemas, **settings))
            for prompt, (text, reason, _) in zip(batch, replies, strict=True):
                hash_ = prompt.prompt.prompt_hash
                reply = Completion(prompt_hash=hash_, sample_index=0, text=text, finish_reason=reason)
                outcomes.append(outcome_of(prompt, self.place_of(prompt.prompt, reply)))
        return outcomes

    def summary(self) -> str:
        """What was kept and what was not, a line a framing; where labels play no part, how right the targets are."""
        lines = [
            f"  {name}: {'; '.join(f'{n} {what}' for what, n in c.items() if n)}" for name, c in self.counts.items()
        ]
        n_kept, n_right = (sum(counts[key] for counts in self.counts.values()) for key in (KEPT, RIGHT))
        if not self.config.has_labels and any(RIGHT in counts for counts in self.counts.values()):
            lines.append(
                f"  {n_right} of {n_kept} targets are right by the labels; what is wrong in the baseline stays so"
            )
        return "\n".join(lines)


def outcome_of(prompt: TrainingPrompt, place: int | None) -> int | None:
    """Which verdict the answer at a place is, as Example.choices count; the same of the prompt's baseline."""
    return place if place is None or not prompt.order else [*prompt.order].index(place)


def words_of(prompt: Prompt) -> set[str]:
    """The words of a prompt."""
    return {word for message in prompt.messages for word in words_in(message.content)}


def words_in(text: str) -> set[str]:
    """The words of a text in lower case and without an s at their end, but function words and those of few letters."""
    return {word.removesuffix("s") for word in WORD.findall(text.lower())} - FUNCTION_WORDS
