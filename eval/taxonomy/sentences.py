"""The taxonomy in plain sentences: why verdicts flip, what a mitigation removed, and what to be careful about."""

from collections.abc import Iterator

import pandas as pd

from eval.report.change_cells import change_words
from eval.taxonomy.findings import TaxonomyFindings
from eval.taxonomy.flip_states import ANY, CODE
from eval.taxonomy.tables import changes_frame, models
from studies.taxonomy.codebook import MOST_UNEXPLAINED, UNEXPLAINED, codes

FEW_FLIPS = 30  # below which shares say little
MANY_UNREAD = 0.1  # share of the replies that are of no use, from which on shares say more about format
ONE_CODE = 90.0  # percent of the flips with one code, from which on the judge does not tell codes apart


def sentences_about(found: TaxonomyFindings) -> Iterator[str]:
    """Of which kind each model's flips are, and which code leads."""
    for of in models(found).itertuples():
        if not of.is_coded:
            yield f"{of.name}: none of {of.n_flips} flips has a primary code."
            continue
        yield (
            f"{of.name}: of {of.is_coded} flips {100 * of.is_lenient / of.is_coded:.1f}% are deference. {of.label} "
            f"({codes()[of.label].name}) is the primary code of most: {with_ends(of.value, of.low, of.high)}. "
            f"Unexplained ({UNEXPLAINED}): {of.value_rest:.1f}%, where the paper aims at less than "
            f"{MOST_UNEXPLAINED:.0f}%."
        )


def change_sentences(found: TaxonomyFindings, name: str) -> Iterator[str]:
    """What a mitigation did to flips altogether, and to the codes whose frequency has changed significantly."""
    frame = changes_frame(found)
    frame = frame[frame["name"] == name]
    changes = {change.setting["label"]: change for change in found.changes if change.second == name}
    for of in frame[frame["label"] == ANY].itertuples():
        yield (
            f"{name}: of {of.n_before} flips of {of.base} it removed {of.n_removed} "
            f"({with_ends(of.removed_value, of.removed_low, of.removed_high)}), left {of.n_left}, and made {of.n_made} "
            f"of its {of.n_after}; per 100 items {change_words(changes[ANY], digits=2)}."
        )
    labels = [label for label in frame.loc[frame["level"] == CODE, "label"] if label != ANY]
    for words, sign in (("Rarer", -1), ("More frequent", 1)):
        clear = [label for label in labels if changes[label].direction == sign]
        if clear:
            yield f"{words}: {', '.join(f'{label} ({change_words(changes[label], digits=2)})' for label in clear)}."


def with_ends(value: float, low: float, high: float) -> str:
    """A percentage with its interval; a dash where it is unknown."""
    ends = "" if pd.isna(low) or pd.isna(high) else f" [{low:.1f}, {high:.1f}]"
    return "–" if pd.isna(value) else f"{value:.1f}%{ends}"


def doubts(found: TaxonomyFindings) -> Iterator[str]:
    """What to know before believing a model's figures."""
    n_excluded = {run.name: run.n_excluded for run in found.coded}
    for of in models(found).itertuples():
        if of.name not in n_excluded:
            continue
        n_unread = of.n_replies - of.n_read
        if of.n_flips < FEW_FLIPS:
            yield f"{of.name}: {of.n_flips} flips are few; one code's share may be anything."
        if n_unread and n_unread >= MANY_UNREAD * of.n_replies:
            yield f"{of.name}: {n_unread} of {of.n_replies} replies of the judge {of.judged_by} name no primary code."
        if of.value_rest >= MOST_UNEXPLAINED:
            yield (
                f"{of.name}: {of.value_rest:.0f}% of the flips are unexplained, above the target of "
                f"{MOST_UNEXPLAINED:.0f}%."
            )
        if of.is_coded > 1 and of.value >= ONE_CODE:
            yield (
                f"{of.name}: {of.judged_by} answered {of.label} to {of.value:.0f}% of the flips, so it hardly tells "
                "codes apart."
            )
        if 2 * of.is_hit < of.is_own:
            yield (
                f"{of.name}: the judge {of.judged_by} named the planted code of {of.is_hit} of {of.is_own} flips of "
                "ours; take a stronger judge."
            )
        if n_excluded[of.name]:
            yield (
                f"{of.name}: {n_excluded[of.name]} flips of its run did not fit the judge's context and were left out."
            )


def planted_sentences(found: TaxonomyFindings) -> Iterator[str]:
    """How many of our own flips each judge got; nothing where it judged others."""
    for of in models(found).itertuples():
        if of.is_own:
            yield f"{of.judged_by} named the planted code of {of.is_hit} of {of.is_own} flips of ours."
