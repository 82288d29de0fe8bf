"""What the PluralEval paper leaves open of its measures, decided: every choice by name, with its default and why."""

from dataclasses import dataclass
from typing import Literal

Precision = Literal["responses", "distinct", "retrieved"]
NoResponse = Literal["zero", "excluded"]
Matching = Literal["same_stance", "any"]
OfReference = Literal["supporting", "excluded"]
Redundancy = Literal["matches", "responses"]
Coverage = Literal["votes", "opinions"]
Unread = Literal["excluded", "wrong"]
Rankings = Literal["whole", "completed"]
Ties = Literal["shared", "order"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Definitions:
    """How the measures of the study are computed.

    precision: "responses" is the share of responses that match a summary of the group; "distinct" the number of
        distinct summaries that are matched per response, at most 1, so that an opinion said ten times is not precise;
        "retrieved" takes the words of section 4.2 literally ("the matched summaries as retrieved items"): the share of
        matched summaries that are of the group. Globally that is 1 wherever anything matches, and recall can never be
        above it: Table 4 rules it out (tests/eval/pluraleval/test_possible_definitions.py).
    no_response: precision of a group in which there is no response: "zero", as its recall is, or "excluded" from the
        mean over threads. F1 is 0 in either case.
    matching: in a stance's figures, responses of the "same_stance" count (section 6.1.1), or "any" response.
    reference: whether the reference opinion itself is among the "supporting" summaries, or "excluded" from both sides.
        Globally it counts always.
    redundancy: "matches" is the share of matches (response × summary) that repeat a summary; "responses" the share of
        matching responses that match nothing new, in the order of the list.
    coverage: share of the "votes" that stand behind the matched summaries, with negative votes as 0, or of the
        "opinions", which is global recall again.
    unread: a list without any response, a ranking or choice that cannot be read: "excluded", with its rate beside the
        figure, or "wrong": 0 in every figure, but for ρ and τ, where it is excluded.
    rankings: "whole" rankings count alone; with "completed" a partial or repeated ranking counts too, and what it does
        not name shares the last places.
    ties: summaries with equal votes "shared" a rank, and one of them is as right as the other; or they stand in the
        "order" of the reference set.
    """

    precision: Precision = "responses"
    no_response: NoResponse = "zero"
    matching: Matching = "same_stance"
    reference: OfReference = "supporting"
    redundancy: Redundancy = "matches"
    coverage: Coverage = "votes"
    unread: Unread = "excluded"
    rankings: Rankings = "whole"
    ties: Ties = "shared"


DEFAULT = Definitions()
