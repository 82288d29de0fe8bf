"""PluralEval's part of `evenhand show`: the prompts about one thread of ours, or of a built folder."""

import argparse
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from evenhand.errors import DataError
from evenhand.records import Prompt
from evenhand.terminal import say
from studies.pluraleval.judged_runs import own_responses
from studies.pluraleval.judgements import JUDGEMENTS, judgement_prompts
from studies.pluraleval.pocket import DATASET
from studies.pluraleval.records import ReferenceSet
from studies.pluraleval.reference_sets import ReferenceSettings, reference_unit
from studies.pluraleval.reference_sources import ReferenceSpec, load_references
from studies.pluraleval.responses import Asker, ResponseSettings
from studies.pluraleval.stages import STAGES

BUILT = "reference-sets"


def names() -> Iterable[str]:
    """What this study shows."""
    return (DATASET, BUILT)


def main(argv: Sequence[str]) -> None:
    """Print the prompts about one thread: those to the model under test, or the judge's as far as they are known.

    Of the judge's references only the first step is known beforehand, since later prompts quote earlier replies.
    """
    parser = argparse.ArgumentParser(
        prog="evenhand show",
        description=main.__doc__,
        epilog=f"example: evenhand show {DATASET} --thread pocket-cake --stage responses",
    )
    parser.add_argument("dataset", choices=sorted(names()))
    parser.add_argument("--thread", help="thread id; the first one when left out")
    parser.add_argument("--stage", choices=STAGES, default="responses")
    parser.add_argument("--root", type=Path, help=f"folder of {BUILT}, made by `evenhand build references`")
    words = parser.parse_args(argv)
    if (words.dataset == BUILT) != (words.root is not None):
        raise DataError(f"--root goes with {BUILT}, which need it")
    spec = ReferenceSpec(root=words.root) if words.root else ReferenceSpec(dataset=DATASET)
    found = load_references(spec)
    chosen = next((one for one in found if words.thread in (None, one.thread.thread_id)), None)
    if chosen is None:
        raise DataError(f"no thread '{words.thread}'; the ids look like {found[0].thread.thread_id}")
    for prompt in prompts_of(chosen, spec, words.stage):
        text = "\n\n".join(f"[{message.role}]\n{message.content}" for message in prompt.messages)
        say(f"=== {prompt.item_id} · {prompt.condition} · prompt {prompt.prompt_hash} ===\n{text}\n")


def prompts_of(found: ReferenceSet, spec: ReferenceSpec, stage: str) -> Iterator[Prompt]:
    """A stage's prompts about a thread; judgements only of made-up responses to our own threads."""
    if stage == "references":
        yield from reference_unit(found.thread, ReferenceSettings()).next_prompts({})
    elif stage == "responses":
        yield from Asker(found, ResponseSettings(references=spec)).prompts()
    else:
        own = own_responses()
        lines = own.generations.get(found.thread.thread_id, ())
        yield from judgement_prompts(found, lines, own.replies, JUDGEMENTS)
