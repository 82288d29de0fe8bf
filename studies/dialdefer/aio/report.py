"""What was dropped and why (Table 10), the set's statistics (Table 13), and the card that tells both."""

import re
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from evenhand.markdown import table
from studies.dialdefer.aio.construct import STAGES, Outcome
from studies.dialdefer.aio.raw_folder import POSTS, TRANSCRIPTS, RawFolder
from studies.dialdefer.aio.records import Post, Transcript

# What each stage of Table 10 printed; the paper's label stage dropped what its last row counts.
PAPER = {"discovered": 2295, "harvest": 1702, "filter": 312, "check": 280}
TITLES = {
    "discovered": "ids, discovered or given",
    "harvest": "after removing deleted and malformed",
    "transcribe": "after transcription",
    "filter": "after length and language filtering",
    "label": "after label and neutral context",
    "check": "after the check by people",
}
TOP_RELATIONSHIPS = 5


def funnel(outcome: Outcome) -> list[tuple[str, int]]:
    """(stage, posts left after it), from the ids on."""
    left = len(outcome.records) + len(outcome.left_out)
    rows = [("discovered", left)]
    for stage in STAGES:
        left -= sum(outcome.counts(stage).values())
        rows.append((stage, left))
    return rows


def funnel_table(outcome: Outcome, *, with_paper: bool) -> str:
    """Table 10, with the paper's counts beside ours."""
    header = ["stage", "posts", *(["paper"] if with_paper else [])]
    rows = [
        [TITLES[stage], f"{n:,}", *([f"{PAPER[stage]:,}" if stage in PAPER else "–"] if with_paper else [])]
        for stage, n in funnel(outcome)
    ]
    return table(header, rows, n_words=1)


def left_out_table(outcome: Outcome) -> str:
    """Stage, reason and number of what was left out."""
    rows = [[stage, why, f"{n:,}"] for stage in STAGES for why, n in outcome.counts(stage).most_common() if n]
    return table(["stage", "left out because", "n"], rows, n_words=2) if rows else "Nothing was left out."


def facts_of(folder: RawFolder, outcome: Outcome) -> dict[str, Any]:
    """What construction.json keeps: what made the set, the counts, and how often something was redacted."""
    redacted: Counter[str] = Counter()
    for stage, schema in ((POSTS, Post), (TRANSCRIPTS, Transcript)):
        for _, record in folder.kept(stage, schema):
            assert isinstance(record, Post | Transcript)
            redacted.update(record.redacted)
    return {
        "settings": folder.settings(),
        "funnel": dict(funnel(outcome)),
        "left_out": {stage: dict(outcome.counts(stage)) for stage in STAGES},
        "corrected_by_people": dict(+outcome.corrected),
        "redacted": dict(redacted),
        "statistics": statistics_of(outcome.records),
    }


def statistics_of(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Table 13 of a set."""
    if not records:
        return {"instances": 0}
    dialogues = [str(record["c2_input"]).splitlines() for record in records]
    turns = [len(lines) for lines in dialogues]
    words = [sum(len(re.sub(r"^Speaker [AB]: ?", "", line).split()) for line in lines) for lines in dialogues]
    whose = Counter(relationship(str(record.get("speaker_a_identity", ""))) for record in records)
    labels = Counter(str(record["ground_truth"]) for record in records)
    return {
        "instances": len(records),
        "OR": labels["OR"],
        "NOR": labels["NOR"],
        "mean turns": round(statistics.fmean(turns), 1),
        "median turns": statistics.median(turns),
        "turn range": f"{min(turns)}–{max(turns)}",
        "mean words": round(statistics.fmean(words)),
        "relationships": dict(whose.most_common(TOP_RELATIONSHIPS)),
    }


def relationship(text: str) -> str:
    """ "friend" of "Speaker B's friend"; the authors' release writes "Person A's friend" of the same."""
    return re.sub(r"^(?:Speaker|Person) [AB]['’]s ", "", text).strip().lower() or "unknown"


def statistics_table(records: Sequence[Mapping[str, Any]]) -> str:
    """Table 13 in Markdown."""
    found = statistics_of(records)
    n, rows = found["instances"], []
    for name, value in found.items():
        if name == "relationships":
            rows += [[f"Speaker A is a: {who}", f"{count} ({100 * count / n:.1f} %)"] for who, count in value.items()]
        else:
            share = f" ({100 * value / n:.1f} %)" if name in ("OR", "NOR") else ""
            rows.append([name, f"{value}{share}"])
    return table(["statistic", "value"], rows, n_words=1)


def card_text(outcome: Outcome, settings: Mapping[str, Any], *, is_rehydrated: bool) -> str:
    """README.md of items/."""
    what = "The released r/AIO with its dialogues put back" if is_rehydrated else "A set made as r/AIO"
    sections = {
        "What became of the posts": funnel_table(outcome, with_paper=not is_rehydrated),
        "Left out": left_out_table(outcome),
        "Statistics": statistics_table(outcome.records),
        "Made with": table(
            ["stage", "model", "prompts"],
            [[stage, str(facts.get("model")), str(facts.get("prompts"))] for stage, facts in settings.items()],
            n_words=3,
        ),
        "Terms": "The dialogues are their authors', under Reddit's terms. Keep this folder to yourself; `evenhand "
        "build aio release` writes what may be passed on. Run `harvest` and `items` again from time to time: what was "
        "deleted on Reddit is then deleted here, too.",
    }
    body = "\n\n".join(f"## {title}\n\n{text}" for title, text in sections.items())
    n = f"{len(outcome.records):,} items. `missing.jsonl` names every post that is not among them."
    return f"# {what}\n\n{n}\n\n{body}\n"
