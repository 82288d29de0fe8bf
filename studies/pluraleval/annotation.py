"""What people can be asked about the judge of PluralEval: its matches, stances and clusters (appendix A.5)."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from eval.runs import load_finished
from evenhand.errors import DataError
from evenhand.files import shipped_yaml
from studies.annotation.tasks import Item, Task
from studies.item_files import shuffled
from studies.pluraleval.build_references import reference_sets
from studies.pluraleval.observe import MATCH, confidence_of, stance_of
from studies.pluraleval.reply_reading import YES_NO
from studies.pluraleval.response_lists import responses_in
from studies.pluraleval.runs import judged
from studies.pluraleval.section import section_of

MOST_PAIRS = 100  # of a thread's opinions that are drawn from, of each kind; there are thousands in a long thread


def tasks(path: Path) -> list[Task]:
    """Matches and stances of a judgements run; clusters of a references run."""
    return [clusters(path)] if section_of(path).stage == "references" else judgements(path)


def judgements(path: Path) -> list[Task]:
    """Of each response: whether it matches a summary, and its stance. Texts are those that the judge read."""
    run = judged(load_finished(path))
    if run.judgements is None:
        raise DataError(f"{path}: is of the stage `responses`; name the judgements run, whose judge people check")
    samples = [(reply.prompt_hash, sample) for reply in run.replies for sample in reply.samples]
    responses = {(hash_, sample.sample_index): responses_in(sample).value for hash_, sample in samples}
    matches, stances = list[Item](), list[Item]()
    for prompt in run.judgements.plan:
        factors, reply = dict(prompt.factors), run.judgements.replies[prompt.prompt_hash][0]
        reference_set = run.references[prompt.item_id]
        response = ("Response", responses[factors["response_hash"], factors["sample_index"]][factors["number"]])
        opinion = ("Opinion", reference_set.clusters[factors["cluster"]].summary)
        if factors["judgement"] == "stance":
            if stance := stance_of(reply):
                texts = (("Post", reference_set.thread.post), opinion, response)
                stances.append(Item(unit=prompt.item_id, texts=texts, judge=stance))
        elif not math.isnan(confidence := confidence_of(reply)):
            answer = YES_NO[0] if confidence > MATCH else YES_NO[1]
            matches.append(Item(unit=prompt.item_id, texts=(response, opinion), judge=answer))
    judge, kinds = run.judgements.judge, {"matches": matches, "stances": stances}
    in_run = {name: Counter(item.judge for item in items) for name, items in kinds.items()}
    return [task_of(name, items, path, judge, in_run[name]) for name, items in kinds.items() if items]


QUESTIONS: Mapping[str, Mapping[str, Any]] = shipped_yaml(Path(__file__).with_name("annotation.yaml"))


def task_of(name: str, items: Sequence[Item], path: Path, judge: str, in_run: Mapping[str, int]) -> Task:
    """A task with its question."""
    question = {**QUESTIONS[name], "answers": tuple(QUESTIONS[name]["answers"])}
    return Task(name=name, items=items, judge=judge, in_run=in_run, run=path.name, **question)


def clusters(path: Path) -> Task:
    """Whether two opinions of a thread make the same point: some that are in one cluster, some that are in two."""
    run = load_finished(path)
    items, in_run = list[Item](), Counter[str]()
    for reference_set in reference_sets(run):
        placed = [(n, member.text) for n, cluster in enumerate(reference_set.clusters) for member in cluster.members]
        pairs = shuffled(combinations(placed, 2), reference_set.thread.thread_id)
        for answer in YES_NO:
            alike = [pair for pair in pairs if (pair[0][0] == pair[1][0]) == (answer == YES_NO[0])]
            in_run[answer] += len(alike)
            for (_, first), (_, second) in alike[:MOST_PAIRS]:
                texts = (("First opinion", first), ("Second opinion", second))
                items.append(Item(unit=reference_set.thread.thread_id, texts=texts, judge=answer))
    return task_of("clusters", items, path, run.config["model"]["name"], in_run)
