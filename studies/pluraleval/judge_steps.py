"""What the steps of a references run share: the judge's prompts about a thread, and a tally of its replies' states."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from evenhand.records import Completion, Prompt, SamplingOverride
from studies.pluraleval.own_prompts import TEMPLATE_VERSION as OWN_VERSION
from studies.pluraleval.published_prompts import TEMPLATE_VERSION, Messages
from studies.pluraleval.records import STANCES, ReferenceFactors, Step, Thread, prompt_about
from studies.study import Replies

PUBLISHED: tuple[Step, ...] = ("bootstrap", "summary")  # prompts 8 and 9
TOKENS: Mapping[Step, int] = {  # a reply's longest length; of bootstrap and proposal see clustering.reply_room
    "extraction": 512,
    "summary": 96,
    "assignment": 16,
    "stance": 8,
    "belief": 128,
}


@dataclass
class Judge:
    """Asks about one thread, always the likeliest reply (temperature 0, as printed with prompts 8 and 9)."""

    thread: Thread
    states: dict[Step, Counter[str]] = field(default_factory=dict)

    def prompt(
        self, step: Step, number: int, messages: Messages, *, schema: str | None = None, max_tokens: int | None = None
    ) -> Prompt:
        """A prompt of a step. number: see ReferenceFactors."""
        version = TEMPLATE_VERSION if step in PUBLISHED else OWN_VERSION
        drawing = SamplingOverride(temperature=0.0, n=1, max_tokens=max_tokens or TOKENS[step], json_schema=schema)
        factors = ReferenceFactors(step=step, number=number, template_version=version)
        return prompt_about(self.thread, step, factors, messages, drawing, STANCES if step == "stance" else ())

    def count(self, step: Step, state: str) -> None:
        """Note the state of a reply."""
        self.states.setdefault(step, Counter())[state] += 1


def reply_to(prompt: Prompt, replies: Replies) -> Completion:
    """The one reply to a judge's prompt."""
    return replies[prompt.prompt_hash][0]
