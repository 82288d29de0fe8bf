"""The taxonomy in plain sentences: why verdicts flip, what a mitigation removed, and what to be careful about."""

from collections.abc import Iterator

from eval.estimates.estimate import Estimate
from eval.report.change_cells import change_words
from eval.taxonomy.coded_flips import CodedRun
from eval.taxonomy.fates import ANY, CATEGORY, Moved
from eval.taxonomy.findings import planted_hits
from eval.taxonomy.shares import Shares
from eval.taxonomy.tables import ends
from studies.flips import LENIENT
from studies.taxonomy.codebook import MOST_UNEXPLAINED, UNEXPLAINED, codes

FEW_FLIPS = 30  # below which shares say little
MANY_UNREAD = 0.1  # share of the replies that are of no use, from which on shares say more about format
ONE_CODE = 90.0  # percent of the flips with one code, from which on the judge does not tell codes apart


def sentences_about(one: CodedRun) -> list[str]:
    """Of which kind a model's flips are, and which code leads."""
    n = len(one.flips)
    if not n:
        return [f"{one.name}: none of {len(one.all_flips)} flips has a primary code."]
    shares = Shares(flips=one.flips, what="primary")
    top = shares.ranked()[0]
    lenient, most, rest = sum(flip.direction == LENIENT for flip in one.flips), shares.estimate(top), UNEXPLAINED
    return [
        f"{one.name}: of {n} flips {100 * lenient / n:.1f}% are deference. {top} ({codes()[top].name}) is the primary "
        f"code of most: {with_ends(most)}. Unexplained ({rest}): "
        f"{shares.estimate(rest).value:.1f}%, where the paper aims at less than {MOST_UNEXPLAINED:.0f}%."
    ]


def moved_sentences(moved: Moved) -> list[str]:
    """What a mitigation did to flips altogether, and to the codes whose frequency has clearly changed."""
    whole = next(fate for fate in moved.fates if fate.label == ANY)
    return [
        f"{moved.name}: of {whole.n_before} flips of {moved.base} it removed {whole.n_removed} "
        f"({with_ends(whole.removed)}), left {whole.n_left}, and made {whole.n_made} of "
        f"its {whole.n_after}; per 100 items {change_words(whole.change, digits=2)}.",
        *clear_changes(moved),
    ]


def clear_changes(moved: Moved) -> Iterator[str]:
    """A sentence on the codes that became rarer or more frequent."""
    for words, sign in (("Rarer", -1), ("More frequent", 1)):
        found = [fate for fate in moved.fates if fate.change.direction == sign and fate.level != CATEGORY]
        if labels := [f"{fate.label} ({change_words(fate.change, digits=2)})" for fate in found if fate.label != ANY]:
            yield f"{words}: {', '.join(labels)}."


def with_ends(of: Estimate) -> str:
    """A percentage with its interval; a dash where it is unknown."""
    return "–" if of.value is None else " ".join([f"{of.value:.1f}%", *filter(None, [ends(of)])])


def doubts(one: CodedRun) -> Iterator[str]:
    """What to know before believing a model's figures."""
    n_replies = sum(len(flip.samples) for flip in one.all_flips)
    n_unread = sum(not reply.is_read for flip in one.all_flips for reply in flip.samples)
    if len(one.all_flips) < FEW_FLIPS:
        yield f"{one.name}: {len(one.all_flips)} flips are few; one code's share may be anything."
    if n_unread and n_unread >= MANY_UNREAD * n_replies:
        yield f"{one.name}: {n_unread} of {n_replies} replies of the judge {one.judge} name no primary code."
    shares = Shares(flips=one.flips, what="primary")
    rest = shares.estimate(UNEXPLAINED).value
    if rest is not None and rest >= MOST_UNEXPLAINED:
        yield f"{one.name}: {rest:.0f}% of the flips are unexplained, above the target of {MOST_UNEXPLAINED:.0f}%."
    top = next(iter(shares.ranked()), "")
    if top and len(one.flips) > 1 and (of := shares.estimate(top).value or 0) >= ONE_CODE:
        yield f"{one.name}: {one.judge} answered {top} to {of:.0f}% of the flips, so it hardly tells codes apart."
    if (hits := planted_hits(one)) and 2 * hits[0] < hits[1]:
        yield (
            f"{one.name}: the judge {one.judge} named the planted code of {hits[0]} of {hits[1]} flips of ours; take "
            "a stronger judge."
        )
    if one.n_excluded:
        yield f"{one.name}: {one.n_excluded} flips of its run did not fit the judge's context and were left out."


def planted_sentence(one: CodedRun) -> Iterator[str]:
    """How many of our own flips the judge got; nothing where it judged others."""
    if hits := planted_hits(one):
        yield f"{one.judge} named the planted code of {hits[0]} of {hits[1]} flips of ours."
