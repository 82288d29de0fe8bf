"""What the judge is asked of a responses run (sections 4.2 and 6.1.1): stance and entailment of each response."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from evenhand.config import Closed
from evenhand.records import Completion, Drawing, Prompt
from studies.pluraleval.prompts import OWN_VERSION, Messages, as_string, ask, stance
from studies.pluraleval.records import STANCES, Judgement, JudgementFactors, ReferenceSet, prompt_about
from studies.pluraleval.reply_reading import responses_in

YES_NO = ("yes", "no")
JUDGEMENTS: tuple[Judgement, ...] = ("stance", "entailment")


class JudgementSettings(Closed):
    """A finished responses run whose generations are judged."""

    responses: Path | None = None  # the run's folder; null judges made-up responses to our own threads
    judgements: tuple[Judgement, ...] = Field(default=JUDGEMENTS, min_length=1)  # of each response


def judgement_prompts(
    found: ReferenceSet,
    generations: Sequence[Mapping[str, Any]],
    replies: Mapping[str, Sequence[Completion]],
    judgements: Sequence[Judgement],
) -> Iterator[Prompt]:
    """The prompts about one thread's generations.

    generations: their lines of the plan. Entailment is asked against every summary, the stance against the reference
    opinion alone.
    """
    for line in generations:
        for reply in replies[line["prompt_hash"]]:
            for number, response in enumerate(responses_in(reply).responses):
                for judgement in judgements:
                    yield from judged(found, line, reply, number, response, judgement)


def judged(
    found: ReferenceSet,
    line: Mapping[str, Any],
    reply: Completion,
    number: int,
    response: str,
    judgement: Judgement,
) -> Iterator[Prompt]:
    """One judgement of one response."""
    position = found.reference
    assert position is not None
    summaries = [cluster.summary for cluster in found.clusters]
    if judgement == "stance":
        asked: dict[int, Messages] = {position: stance(found.thread.post, summaries[position], response)}
        options: tuple[str, ...] = STANCES
    else:
        quoted = as_string(response)
        asked = {n: ask("entailment", response=quoted, opinion=as_string(text)) for n, text in enumerate(summaries)}
        options = YES_NO
    schema = json.dumps({"enum": options})
    for cluster, messages in asked.items():
        factors = JudgementFactors(
            judgement=judgement,
            framing=line["factors"]["framing"],
            response_hash=line["prompt_hash"],
            sample_index=reply.sample_index,
            number=number,
            cluster=cluster,
            template_version=OWN_VERSION,
        )
        drawing = Drawing(n=1, max_tokens=8, json_schema=schema)
        yield prompt_about(found.thread, judgement, factors, messages, drawing, options)
