"""README.md of a built corpus of the narrator study: what it holds, beside the paper, and what may be done with it."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from evenhand.markdown import filled
from studies.narrator.corpus import PAPER
from studies.narrator.dump_files import DATASET

FACTS = {
    "n_conversations": ("conversations in the dump", "{:,}"),
    "n_escalating": ("of them escalating", "{:,}"),
    "n_subset": ("conversations of the study", "{:,}"),
    "fewest_speakers": ("fewest speakers", "{}"),
    "most_speakers": ("most speakers", "{}"),
    "mean_speakers": ("speakers, mean", "{:.1f}"),
    "median_speakers": ("speakers, median", "{:g}"),
    "sd_speakers": ("speakers, standard deviation", "{:.1f}"),
    "baseline": ("random baseline, mean of 1/n, %", "{:.1f}"),
}
NOT_PRINTED = "not printed"  # in the paper
TEMPLATE = Path(__file__).with_name("card.md")


def card_text(manifest: Mapping[str, Any]) -> str:
    """The card of a build."""
    return filled(TEMPLATE, **{**manifest, "facts": fact_rows(manifest)})


def facts_text(manifest: Mapping[str, Any]) -> str:
    """The facts beside the paper's, and what was left out, for a terminal."""
    rows = [["", "here", "paper"], *fact_rows(manifest)]
    lines = [f"{name:<34}{here:>10}{paper:>13}" for name, here, paper in rows]
    lines += [f"left out: {count:>6,}  {reason}" for reason, count in manifest["dropped"].items()]
    lines += [f"counted:  {count:>6,}  {what}" for what, count in manifest["counts"].items()]
    n = manifest["n_conversations"]
    return "\n".join([*lines, f"train {n['train']:,}, test {n['test']:,}; no page is in both"])


def fact_rows(manifest: Mapping[str, Any]) -> list[list[str]]:
    """Each fact as it is here and as section 3.1 prints it of the paper's corpus."""
    facts, paper = manifest["facts"], asdict(PAPER) if manifest["dataset"] == DATASET else dict.fromkeys(FACTS)
    rows = []
    for key, (name, form) in FACTS.items():
        printed = NOT_PRINTED if paper[key] is None else form.format(paper[key])
        rows.append([name, form.format(facts[key]), printed])
    return rows
