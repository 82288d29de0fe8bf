"""Item × Condition × factors → Prompt. The only place where prompts are made, for inference and training.

The templates are those of prompts.yaml: published as run, as the paper prints them, paraphrased, and ours. One is a
frozen pair of C1 and C2 texts. Change a text and you must raise its version: the version is part of a prompt's hash, so
that answers to the old words are never taken for answers to the new ones.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator

from evenhand.errors import ConfigError
from evenhand.files import shipped_yaml
from evenhand.records import AS_THE_RUN, Message, Prompt, SamplingOverride, answer_schema
from studies.dialdefer.records import Condition, Factors, Item

YES_FIRST, NO_FIRST = "yes_first", "no_first"  # orders of the answers; with no_first, answer 1 rejects the claim
PROMPTS = shipped_yaml(Path(__file__).with_name("prompts.yaml"))
SETS: Mapping[str, Sequence[str]] = PROMPTS["sets"]  # training, development, sealed → templates


@dataclass(frozen=True, slots=True)
class Template:
    """C1 and C2 texts with slots for an item, and {first} and {second}: the answers to choose from, in the order asked
    for. Each pair below accepts first, then rejects.
    """

    statement: str  # C1
    dialogue: str  # C2
    statement_answers: tuple[str, str] = ("Yes, the statement is correct.", "No, the statement is incorrect.")
    dialogue_answers: tuple[str, str] = ("Yes, {speaker2} is correct.", "No, {speaker2} is incorrect.")
    speakers: tuple[str, str] | None = None  # labels of speaker 1 and 2; None: the dataset's
    version: int = 1

    def text(self, *, is_dialogue: bool, answer_order: str, slots: Mapping[str, str]) -> str:
        """The C2 or the C1 text about an item, `slots`, with the answers in that order."""
        first, second = self.answers(is_dialogue=is_dialogue, answer_order=answer_order, slots=slots)
        return (self.dialogue if is_dialogue else self.statement).format(**slots, first=first, second=second)

    def answers(self, *, is_dialogue: bool, answer_order: str, slots: Mapping[str, str]) -> tuple[str, ...]:
        """The two answers in that order."""
        answers = self.dialogue_answers if is_dialogue else self.statement_answers
        return tuple(answer.format(**slots) for answer in (answers[::-1] if answer_order == NO_FIRST else answers))


def template(wording: str, tail: str, edges: Sequence[str] = (), close: str = "END_ANSWER_2") -> Template:
    """A wording in its layout. edges: what stands around the C1 and C2 texts, where it is not as the wording says.
    close: the mark behind C1's answer 2.
    """
    phrases = PROMPTS["wordings"][wording]
    edges = edges or phrases.get("edges", ("{}", "{}"))
    layout = PROMPTS["layouts"][phrases.get("layout", "published")]
    texts: dict[str, Any] = {"speakers": tuple(phrases["speakers"]) if "speakers" in phrases else None}
    for framing, edge in zip(("statement", "dialogue"), edges, strict=True):
        parts = {"answers": phrases.get("answers"), **phrases[framing], "tail": PROMPTS["tails"][tail], "close": close}
        parts["reasoning"] = phrases.get("reasoning", "") if tail == "json" else "."
        if answers := parts.pop("answers"):
            texts[f"{framing}_answers"] = tuple(filled(answer, parts) for answer in answers)
        texts[framing] = filled(edge.replace("{}", layout if isinstance(layout, str) else layout[framing]), parts)
    return Template(**texts)


def filled(text: str, parts: Mapping[str, str]) -> str:
    """A text with each slot replaced by its part, one after the other: a part may have a slot of a later one."""
    for slot, part in parts.items():
        text = text.replace(f"{{{slot}}}", part)
    return text


FORMS = ("json", "one_token")
TEMPLATES: dict[tuple[str, str], Template] = {  # (template, answer form) → texts
    (name, form): template(**layout)
    for name, by_form in PROMPTS["templates"].items()
    for form, layout in by_form.items()
}
WORDED = [name for names in SETS.values() for name in names if name in PROMPTS["wordings"]]  # as their templates
TEMPLATES |= {(name, form): template(name, form) for name in WORDED for form in FORMS}
AIO = {form: template("aio", form) for form in FORMS}  # of r/AIO (C.3)


def template_for(name: str, answer_form: str) -> Template:
    """The texts of a template in an answer form. Raises ConfigError naming the forms that exist."""
    if (name, answer_form) not in TEMPLATES:
        forms = ", ".join(f"{n} ({form})" for n, form in sorted(TEMPLATES))
        raise ConfigError(f"template '{name}' has no {answer_form} form; there are: {forms}")
    return TEMPLATES[name, answer_form]


# The two keys of a reasoned verdict (C.2), for runs whose engine holds replies to them.
VERDICT_SCHEMA = answer_schema(("1", "2"), ("chosen_answer", "reasoning"))

# r/AIO's labels as run (the paper writes 1 and 2): A is the other party, B the original poster.
AIO_DATASETS = ("aio", "aio-context")
AIO_LABELS = ("Speaker A", "Speaker B")
OPPOSITE = {"overreacting": "not overreacting", "not overreacting": "overreacting"}


def distinct(labels: tuple[str, str]) -> tuple[str, str]:
    """The labels as they are. Raises ValueError where both are the same: a turn would be nobody's."""
    if labels[0].strip() == labels[1].strip():
        raise ValueError(f"both speakers are called '{labels[0]}'; give each a label of its own")
    return labels


SpeakerLabels = Annotated[tuple[str, str], AfterValidator(distinct)]


def own_labels(dataset: str, arm: str) -> tuple[str, str]:
    """The labels of speakers 1 and 2 where none are asked for: the arm's, else the dataset's."""
    is_aio = dataset in AIO_DATASETS
    if arm == "dehumanizing":
        return ("AI Agent A", "AI Agent B") if is_aio else ("AI Agent 1", "AI Agent 2")
    return AIO_LABELS if is_aio else ("Speaker 1", "Speaker 2")


def render(
    item: Item,
    condition: Condition,
    *,
    template: str = "published",
    answer_form: str = "json",
    arm: str = "none",
    speakers: tuple[str, str] | None = None,
    roles: str = "2->1",
    answer_order: str = YES_FIRST,
) -> Prompt:
    """The prompt of one item under one condition (DialDefer C.2, C.3, K.1).

    template, answer_form: keys of TEMPLATES; answer_form is "json" or "one_token". r/AIO has a template of its own.
    arm: "none", "honest" or "dehumanizing" (a system message; the last also renames the speakers).
    speakers: labels of speaker 1 and 2; None takes the arm's, the template's or the dataset's own.
    roles: for r/AIO, who judges whom: "2->1" (the main setting) or "1->2".
    answer_order: "yes_first" (as published), or "no_first", where answer 1 rejects the claim.
    """
    is_aio = item.dataset in AIO_DATASETS
    texts = AIO[answer_form] if is_aio else template_for(template, answer_form)
    labels = speakers or (texts.speakers if arm != "dehumanizing" else None) or own_labels(item.dataset, arm)
    if is_aio:
        slots = aio_slots(item, condition.claim_is_true, labels, roles)
    else:
        answer = item.correct_answer if condition.claim_is_true else item.incorrect_answer
        slots = {"question": item.question, "answer": answer, "speaker1": labels[0], "speaker2": labels[1]}
    text = texts.text(is_dialogue=condition.is_dialogue, answer_order=answer_order, slots=slots)
    factors = Factors(
        template="aio" if is_aio else template,
        template_version=texts.version,
        answer_form=answer_form,
        arm=arm,
        speaker1=labels[0],
        speaker2=labels[1],
        roles=roles if is_aio else "",
        answer_order=answer_order,
    )
    system = PROMPTS["systems"][arm]
    messages = (Message(role="system", content=system),) if system else ()
    return Prompt(
        item_id=item.item_id,
        benchmark=item.benchmark,
        dataset=item.dataset,
        condition=condition,
        factors=factors,
        messages=(*messages, Message(role="user", content=text)),
        drawing=SamplingOverride(json_schema=VERDICT_SCHEMA) if answer_form == "json" else AS_THE_RUN,
        cluster=item.meta.get("cluster"),
    )


def aio_slots(item: Item, claim_is_true: bool, labels: tuple[str, str], roles: str) -> dict[str, str]:
    """What an r/AIO prompt says of a conflict (C.3, C.4)."""
    judger, judgee, judgment = aio_judgment(item, claim_is_true, labels, roles)
    has_dialogue = item.dataset == "aio"
    return {
        "and_conversation": " and a conversation that took place" if has_dialogue else "",
        "context": relabel(item.context or "", labels),
        "conversation": f"[Conversation]:\n{relabel(item.meta['dialogue'], labels)}\n\n" if has_dialogue else "",
        "judger": judger,
        "judgee": judgee,
        "judgment": judgment,
    }


def aio_judgment(item: Item, claim_is_true: bool, labels: tuple[str, str], roles: str) -> tuple[str, str, str]:
    """(who judges, who is judged, what they are said to be doing) in an r/AIO claim.

    The item's verdict is the community's on the original poster (Speaker 2). For 2->1 the true claim about Speaker 1 is
    the opposite of that verdict; for 1->2 it is the verdict itself.
    """
    is_back = roles == "2->1"
    judgee, judger = labels if is_back else labels[::-1]
    truth = OPPOSITE[item.correct_answer] if is_back else item.correct_answer
    return judger, judgee, truth if claim_is_true else OPPOSITE[truth]


def relabel(text: str, labels: tuple[str, str]) -> str:
    """The text with r/AIO's own labels replaced, so that an arm that renames speakers renames them everywhere."""
    if labels == AIO_LABELS:
        return text
    new = dict(zip(AIO_LABELS, labels, strict=True))
    # Both at once, so that labels may be swapped.
    return re.sub("|".join(AIO_LABELS), lambda match: new[match.group()], text)
