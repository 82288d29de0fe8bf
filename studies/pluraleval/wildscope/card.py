"""README.md of built threads: what was drawn, what was dropped and why, and what may be done with it."""

from collections.abc import Mapping
from typing import Any

from evenhand.markdown import table

COLUMNS = ("posts", "too few comments", "too many comments", "fit", "wanted", "drawn")


def card_text(manifest: Mapping[str, Any]) -> str:
    """The card of a build."""
    wanted = manifest["wanted"]
    year = f"of {wanted['year']}" if wanted["year"] else "of any year"
    which = "comments on the post itself" if wanted["top_level"] else "comments at any depth"
    sections = {
        "Threads": table(
            ["subreddit", *COLUMNS],
            [[name, *(f"{counts[key]:,}" for key in COLUMNS)] for name, counts in manifest["strata"].items()],
            n_words=1,
        ),
        "Left out": left_out(manifest["dropped"]),
        "What is kept": "`thread_id` (the submission's id on Reddit), `community`, `title`, `text`, and of each "
        "comment `text`, `score` and whether it is a reply, in the order of time. No author's name and no comment's id "
        "is kept, and names in texts (`u/...`) are replaced by `u/someone`. The number of comments is of those kept, "
        "since Pushshift takes `num_comments` of a post when it is new.",
        "Licence": "The texts are their authors', under Reddit's terms; the paper releases its own sample under CC "
        "BY-NC 4.0. Keep this folder to yourself, and pass on the command that builds it.",
        "Sources": table(
            ["file", "bytes", "SHA-256"],
            [[source["name"], f"{source['n_bytes']:,}", source["sha256"]] for source in manifest["sources"]],
            n_words=1,
        ),
    }
    body = "\n\n".join(f"## {title}\n\n{text}" for title, text in sections.items())
    return (
        f"# Threads of Reddit, drawn as WildScope\n\n{manifest['n_threads']:,} threads {year} with "
        f"{manifest['n_comments']:,} {which}, from Pushshift's dumps, by subreddit and with seed {wanted['seed']} "
        f"(PluralEval, section 5).\n\n{body}\n"
    )


def left_out(dropped: Mapping[str, Mapping[str, int]]) -> str:
    """Reasons and counts of posts and comments. Comments are those under posts that count."""
    rows = [
        [kind, reason, f"{count:,}"]
        for kind, counts in dropped.items()
        for reason, count in sorted(counts.items(), key=lambda pair: -pair[1])
    ]
    return table(["of", "reason", "n"], rows, n_words=2) if rows else "Nothing."


def facts_text(manifest: Mapping[str, Any]) -> str:
    """The same for a terminal."""
    lines = []
    for name, counts in manifest["strata"].items():
        lines.append(f"{name:<22}" + ", ".join(f"{key} {counts[key]:,}" for key in COLUMNS))
        if counts["drawn"] < counts["wanted"]:
            lines.append(f"  fewer than wanted: {counts['drawn']} of {counts['wanted']}")
    for kind, reasons in manifest["dropped"].items():
        lines += [f"left out: {count:>9,}  {kind}: {reason}" for reason, count in sorted(reasons.items())]
    return "\n".join(lines)
