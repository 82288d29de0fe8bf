"""Before and after: which flips a mitigation removed, which it left, and which it made, by code."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import pandas as pd

from eval.annotation.agreement import share_of
from eval.estimates.changes import Change, Compared, adjusted, change_in, paired
from eval.estimates.comparability import Difference, config_differences, provenance_differences
from eval.estimates.estimate import Estimate
from eval.estimates.observed import Drawing, Measure, Observed
from eval.estimates.scores import Score
from eval.taxonomy.coded_flips import CodedRun, all_flips, flips_folder, unit_of
from eval.taxonomy.scores import UNKNOWN, score
from evenhand.errors import DataError
from evenhand.manifest import read_manifest
from studies.flips import KIND, read_flips
from studies.taxonomy.codebook import categories, codes
from studies.taxonomy.section import KEY

ANY = "any flip"
NOT_CODED = "not coded"  # a flip whose judgement could not be read
CODE, CATEGORY = "code", "category"
ALL_ITEMS = "all items"
FLIPS_KEY = f"{KEY}.flips"
FACTS = ("the judge's model", "the judge's revision", "the judge's prompt version", "framings", "kinds of flips")
PER_100 = Measure(
    name="flips_per_100_items", unit="%", statistic=lambda means: 100 * means[..., 0], interval="cluster_t"
)


class Searched(NamedTuple):
    """Where the flips of one model were looked for, and what was there."""

    units: Collection[str]  # all items, whether they flip or not
    flips: pd.DataFrame  # claim, unit, code, category
    undecided: Collection[str]  # claims without a verdict on one side or both


def flip_states(
    base: CodedRun, afters: Sequence[CodedRun], drawing: Drawing
) -> tuple[pd.DataFrame, list[Score], list[Change]]:
    """(counts, scores, changes per 100 items) of each run after the base; p is adjusted over them.

    The counts have a row for each run and label (ANY, each code, NOT_CODED, each category): n_items; n_before and
    n_after, flips of the label; n_removed, flips before and none after; n_unknown, flips before whose claim has no
    verdict after; n_left, flips before and after, whatever the label is after; n_same, of the label both times; n_made,
    flips after and none before. Raises DataError where runs cannot be paired.
    """
    levels = {ANY: CODE, **dict.fromkeys([*codes(), NOT_CODED], CODE), **{of.category: CATEGORY for of in categories()}}
    counts, scores, of_runs = list[dict[str, Any]](), list[Score](), list[list[Change]]()
    for after in afters:
        before_side, after_side = over_shared_items(base, after)
        of_runs.append([])
        for label, level in levels.items():
            ours, theirs = (side.flips[is_of(side.flips, label)] for side in (before_side, after_side))
            removed = gone(ours, after_side)
            made = gone(theirs, before_side)
            row: dict[str, Any] = {"name": after.name, "base": base.name, "label": label, "level": level}
            row |= {"n_items": len(before_side.units), "n_before": len(ours), "n_after": len(theirs)}
            row |= {"n_removed": sum(removed["is_gone"]), "n_made": sum(made["is_gone"])}
            row |= {"n_unknown": len(ours) - len(removed), "n_same": sum(ours["claim"].isin(theirs["claim"]))}
            counts.append({**row, "n_left": row["n_before"] - row["n_removed"] - row["n_unknown"]})
            setting: dict[str, Any] = {"label": label, "against": base.name}
            share = share_gone(removed)
            for measure, of in (("removed", share), ("left", mirrored(share)), ("made", share_gone(made))):
                scores.append(score(all_flips([after]), measure, "%", of, **setting))
            pair = paired(counted(ours, before_side.units), counted(theirs, before_side.units), drawing)
            compared = Compared(base.name, after.name, {"judged_by": base.judge, "level": level, "label": label})
            of_runs[-1].append(change_in(PER_100, [pair], compared, ALL_ITEMS))
    return pd.DataFrame(counts), scores, [change for changes in adjusted(of_runs) for change in changes]


def over_shared_items(base: CodedRun, after: CodedRun) -> tuple[Searched, Searched]:
    """Both, over the items that both were looked for flips in."""
    ours, theirs = searched(base), searched(after)
    units = dict.fromkeys(unit for unit in ours.units if unit in set(theirs.units))
    if not units:
        raise DataError(f"{after.run.path}: its flips are of other items than those of {base.run.path}")
    before_side, after_side = (
        Searched(units, side.flips[side.flips["unit"].isin(units)], side.undecided) for side in (ours, theirs)
    )
    return before_side, after_side


def searched(coded: CodedRun) -> Searched:
    """Of one model, from the folder of its flips: also those that did not fit the judge's context, without a code.

    Raises DataError where only some of the flips were judged.
    """
    if coded.run.config[KEY].get("n_flips") is not None:
        raise DataError(f"{coded.run.path}: judged some of the flips alone (taxonomy.n_flips); judge all to compare")
    folder = flips_folder(coded.run)
    manifest, labels = read_manifest(folder, KIND), coded.flips.set_index("flip_id")[["primary", "category"]]
    rows = [
        (flip.flip_id, unit_of(flip.dataset, flip.item_id), claim_of(flip.dataset, flip.item_id, flip.claim_is_true))
        for flip in read_flips(folder)
        if flip.model == coded.model
    ]
    flips = pd.DataFrame(rows, columns=["flip_id", "unit", "claim"]).join(labels, on="flip_id")
    flips["code"] = flips["primary"].fillna("").replace("", NOT_CODED)
    items, undecided = (manifest[name].get(coded.model, {}) for name in ("items", "undecided"))
    return Searched(
        units=[unit_of(dataset, item) for dataset, of_dataset in items.items() for item in of_dataset],
        flips=flips,
        undecided={claim_of(dataset, *claim) for dataset, claims in undecided.items() for claim in claims},
    )


def claim_of(dataset: str, item_id: str, is_true: bool) -> str:
    """What a claim is called in runs of every model."""
    return f"{unit_of(dataset, item_id)}, {bool(is_true)}"


def is_of(flips: pd.DataFrame, label: str) -> "pd.Series[bool]":
    """Which flips count under a label."""
    return (flips["code"] == label) | (flips["category"] == label) | (label == ANY)


def gone(flips: pd.DataFrame, other: Searched) -> pd.DataFrame:
    """The flips whose claim has a verdict on the other side, and whether it is no flip there."""
    decided = flips[~flips["claim"].isin(other.undecided)]
    return decided.assign(is_gone=~decided["claim"].isin(other.flips["claim"]))


def share_gone(flips: pd.DataFrame) -> Estimate:
    """The share that is no flip on the other side, over items; unknown without flips."""
    rows = [(unit, is_gone, 1.0) for unit, is_gone in zip(flips["unit"], flips["is_gone"], strict=True)]
    return share_of(rows) if rows else UNKNOWN


def mirrored(share: Estimate) -> Estimate:
    """The share of the rest."""
    value, low, high = (None if end is None else 100 - end for end in (share.value, share.high, share.low))
    return Estimate(value=value, low=low, high=high, n_units=share.n_units)


def counted(flips: pd.DataFrame, units: Collection[str]) -> Observed:
    """Flips of each item."""
    n = flips["unit"].value_counts().reindex(list(units), fill_value=0).to_numpy(float)[:, None]
    return Observed(dataset=ALL_ITEMS, units=tuple(units), earned=n, counted=n * 0 + 1)


def judge_differences(base: CodedRun, after: CodedRun) -> list[Difference]:
    """What the judge's runs and the folders of flips differ in; other flips are meant to be there."""
    facts = zip(FACTS, judge_facts(base), judge_facts(after), strict=True)
    differences = [Difference(name, one, other, serious=True) for name, one, other in facts if one != other]
    differences += [
        replace(difference, what=f"the judge's {difference.what}")
        for difference in (
            *config_differences(base.run.config, after.run.config, (FLIPS_KEY,)),
            *provenance_differences(base.run.provenance, after.run.provenance),
        )
        if difference.what not in (FLIPS_KEY, "item_set_hash") and not difference.what.startswith("inputs")
    ]
    return sorted(differences, key=lambda difference: not difference.serious)


def judge_facts(coded: CodedRun) -> Iterator[str]:
    """What makes a judge the same judge, and flips the same kind of flips; see FACTS."""
    model, facts = coded.run.config["model"], dict(coded.run.provenance.get("model") or {})
    manifest = read_manifest(flips_folder(coded.run), KIND)
    yield str(model.get("name"))
    yield str(facts.get("checkpoint_hash") or facts.get("revision") or model.get("revision"))
    yield ", ".join(sorted({str(dict(prompt.factors)["template_version"]) for prompt in coded.run.plan}))
    yield " and ".join(manifest["framings"])
    yield ", ".join(manifest["kinds"])
