"""The templates of prompts.yaml: published as run, as the paper prints them, paraphrased, and ours.

A template is one frozen pair of C1 and C2 texts. Change a text and you must raise its version: the version is part of a
prompt's hash, so that answers to the old words are never taken for answers to the new ones.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenhand.errors import ConfigError
from evenhand.files import shipped_yaml

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
