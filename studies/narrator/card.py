"""README.md of a built corpus of the narrator study: what it holds, beside the paper, and what may be done with it."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from evenhand.markdown import table
from studies.narrator import pocket
from studies.narrator.corpus import PAPER

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
FIELDS = {
    "conversation_id": "stable id, the same in every build",
    "dataset": "`cga-wiki` or `pocket-conflicts`",
    "turns": "`speaker` (id) and `text`, in order of time; the last turn is the one annotated attack",
    "names": 'speaker id → name shown; distinct, none is "Me" (rules: studies/narrator/names.py)',
    "meta": "`split` (ours, by page), `page_title` and the like; `source_split`: the dataset's own",
}
CGA = {
    "title": "Conversations Gone Awry (Wikipedia), the narrator study's subset",
    "opening": "Discussions of Wikipedia's talk pages that end in one annotated personal attack, from ConvoKit's dump "
    "of Conversations Gone Awry (Zhang et al. 2018; Chang and Danescu-Niculescu-Mizil 2019), reduced as in the "
    "narrator paper, section 3.1: exactly one comment is annotated as an attack, it is the last turn, the calm "
    "counterpart is left out. English.",
    "licence": "No licence was found on the corpus's page. The names are those of real accounts, and the attacks were "
    "meant for real people: keep this folder to yourself, and pass on the command that builds it. ConvoKit's page: "
    "https://convokit.cornell.edu/documentation/awry.html",
    "command": "evenhand build narrator",
}
POCKET = {
    "title": "pocket-conflicts",
    "opening": "Invented quarrels on talk pages with 2 to 9 speakers, each ending in one attack, subtle or open "
    '(`meta["attack"]`), from Evenhand\'s generator (studies/narrator/pocket.py). Nobody in them is real. English.',
    "licence": "Apache-2.0, as Evenhand.",
    "command": "evenhand build narrator --pocket",
}


def card_text(manifest: Mapping[str, Any]) -> str:
    """The card of a build."""
    words = POCKET if manifest["dataset"] == pocket.DATASET else CGA
    n_by_split, pages = manifest["n_conversations"], manifest["n_pages"]
    rows = [[name, f"{n_by_split[name]:,}", f"{pages[name]:,}"] for name in n_by_split]
    sections = {
        "Beside the paper": table(["", "here", "paper"], fact_rows(manifest["facts"]), n_words=1),
        "Splits": f"{split_text(manifest)}\n\n{table(['split', 'conversations', 'pages'], rows, n_words=1)}",
        "Fields of conversations.jsonl": table(
            ["field", "what it holds"], [[f"`{name}`", said] for name, said in FIELDS.items()], n_words=2
        ),
    }
    if manifest["sources"]:
        sections["Left out"] = counted_table("reason", manifest["dropped"]) or "Nothing."
        sections["The dump"] = f"{counted_table('', manifest['counts'])}\n\n{source_table(manifest['sources'])}"
    sections["Licence"] = words["licence"]
    sections["How it was made"] = made_text(manifest, words["command"])
    body = "\n\n".join(f"## {title}\n\n{text}" for title, text in sections.items())
    return f"# {words['title']}\n\n{words['opening']}\n\n{body}\n"


def facts_text(manifest: Mapping[str, Any]) -> str:
    """The facts beside the paper's, and what was left out, for a terminal."""
    rows = [["", "here", "paper"], *fact_rows(manifest["facts"])]
    lines = [f"{name:<34}{here:>10}{paper:>13}" for name, here, paper in rows]
    lines += [f"left out: {count:>6,}  {reason}" for reason, count in manifest["dropped"].items()]
    lines += [f"counted:  {count:>6,}  {what}" for what, count in manifest["counts"].items()]
    n = manifest["n_conversations"]
    return "\n".join([*lines, f"train {n['train']:,}, test {n['test']:,}; no page is in both"])


def fact_rows(facts: Mapping[str, Any]) -> list[list[str]]:
    """Each fact as printed here and in section 3.1; of our own conflicts there is no dump to count."""
    paper = asdict(PAPER)
    rows = []
    for key, (name, form) in FACTS.items():
        if facts[key] is None:  # of a dump, and there was none
            continue
        printed = NOT_PRINTED if paper[key] is None else form.format(paper[key])
        rows.append([name, form.format(facts[key]), printed])
    return rows


def split_text(manifest: Mapping[str, Any]) -> str:
    """How train and test were divided."""
    split = manifest["split"]
    if split is None:
        return "Train and test share no page, no reason, no attack and no account name."
    return (
        f"By page, archives with their page, with seed {split['seed']}: pages go to test in a random order until it "
        f"holds {split['test_share']:.0%} of the conversations. The paper, which trains nothing, uses all of them."
    )


def counted_table(what: str, counts: Mapping[str, int]) -> str:
    """Names and counts; empty when there are none."""
    return table([what, "n"], [[name, f"{count:,}"] for name, count in counts.items()], n_words=1) if counts else ""


def source_table(sources: list[dict[str, Any]]) -> str:
    """The files that were read."""
    rows = [
        [s["url"] or f"{s['name']} (put there by hand)", f"{s['n_bytes']:,}", s["revision"] or "not known", s["sha256"]]
        for s in sources
    ]
    return table(["file", "bytes", "version", "SHA-256"], rows, n_words=1)


def made_text(manifest: Mapping[str, Any], command: str) -> str:
    """The code and the day."""
    code = manifest["code"]
    commit = f"commit {code['commit']}" if code["commit"] else "an unknown commit"
    changed = ", with changes that were not committed" if code["dirty"] else ""
    return f"By `{command}`, {commit}{changed}, {manifest['created']}. manifest.json has the checksums and all counts."
