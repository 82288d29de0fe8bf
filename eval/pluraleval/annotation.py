"""What people can be asked about the judge of PluralEval: its matches, stances and clusters (appendices A.4, A.5)."""

import math
import random
from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

from eval.annotation.tasks import SIDES, Item, Task
from eval.pluraleval.observe import MATCH, confidence_of, stance_of
from eval.pluraleval.runs import load_run, stage_of
from evenhand.config import read_yaml
from evenhand.errors import DataError
from evenhand.run_directory import CONFIG_FILE
from studies.built_folder import MANIFEST_FILE, read_manifest, read_rows
from studies.pluraleval.build_references import reference_sets
from studies.pluraleval.judgements import YES_NO
from studies.pluraleval.records import STANCES, Cluster, ReferenceSet, reference_of
from studies.pluraleval.reply_reading import responses_in
from studies.pluraleval.sources import REFERENCES
from studies.pluraleval.stages import KEY, load_stage

MOST_PAIRS = 100  # of a thread's opinions that are drawn from, of each kind; there are thousands in a long thread


class PluralEvalAnnotation:
    """See eval.annotation.tasks.StudyAnnotation."""

    def reads(self, path: Path) -> bool:
        """Whether it is a run of this study, or a folder of reference sets."""
        if (path / CONFIG_FILE).is_file():
            return isinstance(read_yaml(path / CONFIG_FILE).get(KEY), dict)
        return (path / MANIFEST_FILE).is_file() and (path / REFERENCES[1]).is_file()

    def tasks(self, paths: Sequence[Path]) -> list[Task]:
        """Matches and stances of a judgements run; clusters of reference sets; of two, which clustering is better."""
        if len(paths) > 1:
            return [clusterings(paths)]
        (path,) = paths
        if (path / CONFIG_FILE).is_file() and stage_of(path) != "references":
            return judgements(path)
        return [clusters(path)]


def judgements(path: Path) -> list[Task]:
    """Of each response: whether it matches a summary, and its stance. Texts are those that the judge read."""
    run = load_run(path)
    if run.judgements is None:
        raise DataError(
            f"{path}: is of the stage `responses`; name the judgements run, whose judge is held against people"
        )
    responses = {
        (reply.prompt_hash, sample.sample_index): responses_in(sample).responses
        for reply in run.replies
        for sample in reply.samples
    }
    matches, stances = list[Item](), list[Item]()
    for prompt in run.judgements.plan:
        factors, reply = dict(prompt.factors), run.judgements.replies[prompt.prompt_hash][0]
        found = run.references[prompt.item_id]
        response = ("Response", responses[factors["response_hash"], factors["sample_index"]][factors["number"]])
        summary = found.clusters[factors["cluster"]].summary
        if factors["judgement"] == "stance":
            texts = (("Post", found.thread.post), ("Opinion", summary), response)
            if stance := stance_of(reply):
                stances.append(Item(unit=prompt.item_id, texts=texts, judge=stance))
        elif not math.isnan(confidence := confidence_of(reply)):
            answer = YES_NO[0] if confidence > MATCH else YES_NO[1]
            matches.append(Item(unit=prompt.item_id, texts=(response, ("Opinion", summary)), judge=answer))
    tasks = [
        Task(
            name="matches",
            question="Does the response express the opinion?",
            guide="yes: whoever reads the response learns that its author holds the opinion, in whatever words.\n"
            "no: it is only on the same topic, makes a weaker or another point, or contradicts the opinion.",
            answers=YES_NO,
            items=matches,
            in_run=Counter(item.judge for item in matches),
            runs=(path.name,),
            judge=run.judgements.judge,
        ),
        Task(
            name="stances",
            question="Which stance does the response take toward the opinion?",
            guide="SUPPORTING: it shares the opinion or argues for it.\nAGAINST: it contradicts the opinion or "
            "argues against it.\nNEUTRAL: neither, or both alike.",
            answers=STANCES,
            items=stances,
            in_run=Counter(item.judge for item in stances),
            runs=(path.name,),
            judge=run.judgements.judge,
        ),
    ]
    return [task for task in tasks if task.items]


def clusters(path: Path) -> Task:
    """Whether two opinions of a thread make the same point: some that are in one cluster, some that are in two."""
    judge, found = references_in(path)
    items, in_run = list[Item](), Counter[str]()
    for one in found:
        placed = [(n, member.text) for n, cluster in enumerate(one.clusters) for member in cluster.members]
        draws = random.Random(one.thread.thread_id)
        pairs = sorted(combinations(placed, 2), key=lambda _: draws.random())
        for answer in YES_NO:
            of_answer = [pair for pair in pairs if (pair[0][0] == pair[1][0]) == (answer == YES_NO[0])]
            in_run[answer] += len(of_answer)
            items += [
                Item(
                    unit=one.thread.thread_id,
                    texts=(("First opinion", first), ("Second opinion", second)),
                    judge=answer,
                )
                for (_, first), (_, second) in of_answer[:MOST_PAIRS]
            ]
    return Task(
        name="clusters",
        question="Do the two opinions make the same point?",
        guide="yes: one could stand for the other.\nno: they are only on the same topic, or make different points.",
        answers=YES_NO,
        items=items,
        in_run=in_run,
        runs=(path.name,),
        judge=judge,
    )


def clusterings(paths: Sequence[Path]) -> Task:
    """Two clusterings of the same threads side by side (A.4); threads that both cluster alike are left out."""
    (first, ours), (second, theirs) = map(references_in, paths)
    others = {one.thread: one for one in theirs}
    items = []
    for one in ours:
        if one.thread not in others:
            continue
        left, right = listed(one.clusters), listed(others[one.thread].clusters)
        if left != right:
            texts = (("Post", one.thread.post), ("Left", left), ("Right", right))
            items.append(Item(unit=one.thread.thread_id, texts=texts, judge=SIDES[0]))
    return Task(
        name="clusterings",
        question="Which clustering captures the distinct viewpoints of the discussion better?",
        guide="Each paragraph is a cluster: its summary, then its opinions. The better clustering puts opinions "
        "together that make the same point, and keeps apart those that do not.\ntie: neither is better.",
        answers=SIDES,
        items=items,
        in_run={},
        runs=tuple(path.name for path in paths),
        judge=f"{first} against {second}",
        is_comparison=True,
    )


def listed(found: Sequence[Cluster]) -> str:
    """Clusters as text."""
    return "\n\n".join(
        "\n".join([cluster.summary, *(f"  • {member.text}" for member in cluster.members)]) for cluster in found
    )


def references_in(path: Path) -> tuple[str, list[ReferenceSet]]:
    """(the judge that made them, the reference sets) of a finished references run or of a built folder."""
    if not (path / CONFIG_FILE).is_file():
        judge = read_manifest(path, *REFERENCES)["source"]["judge"]
        return judge, list(read_rows(path, *REFERENCES, reference_of))
    run = load_stage(path, "references")
    return run.model, reference_sets(run)


ANNOTATION = PluralEvalAnnotation()
