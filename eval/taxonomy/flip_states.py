"""Before and after: which flips a mitigation removed, which it left, and which it made, by code."""

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import pandas as pd

from eval.annotation.agreement import share_of
from eval.estimates.changes import Change, Compared, change_in, paired
from eval.estimates.comparability import Difference, config_differences, provenance_differences
from eval.estimates.estimate import Drawing, Estimate, Measure, Observed
from eval.estimates.frames import Score
from eval.taxonomy.coded_flips import NOT_CODED, CodedRun, Searched, flips_folder
from eval.taxonomy.scores import UNKNOWN, score
from evenhand.errors import DataError
from studies.built_folder import read_manifest
from studies.flips import KIND
from studies.taxonomy.codebook import categories, codes
from studies.taxonomy.section import KEY

ANY = "any flip"
CODE, CATEGORY = "code", "category"
ALL_ITEMS = "all items"
FLIPS_KEYS = (f"{KEY}.flips", f"{KEY}.n_flips")  # meant to differ; and refused in CodedRun.searched
PER_100 = Measure(
    name="flips_per_100_items", unit="%", statistic=lambda means: 100 * means[..., 0], interval="cluster_t"
)


class Influences(NamedTuple):
    """The flips of one label (ANY, a code, NOT_CODED, a category) in two runs, over the items of both."""

    label: str
    level: str  # CODE or CATEGORY
    units: Collection[str]
    before: pd.DataFrame
    after: pd.DataFrame
    removed: pd.DataFrame  # those before whose claim has a verdict after; is_gone: it is no flip there
    made: pd.DataFrame  # those after whose claim has a verdict before; is_gone: it is no flip there

    @property
    def counts(self) -> dict[str, int]:
        """n_before and n_after, flips of the label; n_removed, flips before and none after; n_unknown, flips before
        whose claim has no verdict after; n_left, flips before and after, whatever the label is after; n_same, of the
        label both times; n_made, flips after and none before."""
        n_removed, n_unknown = int(self.removed["is_gone"].sum()), len(self.before) - len(self.removed)
        return {
            "n_before": len(self.before),
            "n_removed": n_removed,
            "n_left": len(self.before) - n_removed - n_unknown,
            "n_same": int(self.before["claim"].isin(self.after["claim"]).sum()),
            "n_unknown": n_unknown,
            "n_after": len(self.after),
            "n_made": int(self.made["is_gone"].sum()),
        }


def moves(base: CodedRun, after: CodedRun) -> Iterator[Influences]:
    """Of each label. Raises DataError where the runs cannot be paired."""
    units = dict.fromkeys(unit for unit in base.searched.units if unit in set(after.searched.units))
    if not units:
        raise DataError(f"{after.run.path}: its flips are of other items than those of {base.run.path}")
    ours, theirs = (
        side._replace(flips=side.flips[side.flips["unit"].isin(units)]) for side in (base.searched, after.searched)
    )
    levels = {ANY: CODE, **dict.fromkeys([*codes(), NOT_CODED], CODE), **{of.category: CATEGORY for of in categories()}}
    for label, level in levels.items():
        before, later = (
            side.flips[(side.flips["code"] == label) | (side.flips["category"] == label) | (label == ANY)]
            for side in (ours, theirs)
        )
        yield Influences(label, level, units, before, later, gone(before, theirs), gone(later, ours))


def gone(flips: pd.DataFrame, other: Searched) -> pd.DataFrame:
    """The flips whose claim has a verdict on the other side, and whether it is no flip there."""
    decided = flips[~flips["claim"].isin(other.undecided)]
    return decided.assign(is_gone=~decided["claim"].isin(other.flips["claim"]))


def share_gone(flips: pd.DataFrame) -> Estimate:
    """The share that is no flip on the other side, over items; unknown without flips."""
    rows = [(unit, is_gone, 1.0) for unit, is_gone in zip(flips["unit"], flips["is_gone"], strict=True)]
    return share_of(rows) if rows else UNKNOWN


def moved_scores(base: CodedRun, after: CodedRun, names: tuple[str, str]) -> Iterator[Score]:
    """The shares of each label's flips that were removed, left and made. names: what tables call the two."""
    for moved in moves(base, after):
        removed = share_gone(moved.removed)
        ends = [None if end is None else 100 - end for end in (removed.value, removed.high, removed.low)]
        left = Estimate(value=ends[0], low=ends[1], high=ends[2], n_units=removed.n_units)
        for measure, share in (("removed", removed), ("left", left), ("made", share_gone(moved.made))):
            whose: dict[str, Any] = {"run": after.name, "judge": names[1], "judged_by": after.judged_by}
            yield score(measure, "%", share, **whose, label=moved.label, against=names[0])


def flip_changes(base: CodedRun, after: CodedRun, names: tuple[str, str], drawing: Drawing) -> list[Change]:
    """The change in flips per 100 items, paired by item, of each label."""
    changes = []
    for moved in moves(base, after):
        pair = paired(counted(moved.before, moved.units), counted(moved.after, moved.units), drawing)
        compared = Compared(*names, {"judged_by": base.judged_by, "level": moved.level, "label": moved.label})
        changes.append(change_in(PER_100, [pair], compared, ALL_ITEMS))
    return changes


def counted(flips: pd.DataFrame, units: Collection[str]) -> Observed:
    """Flips of each item."""
    n = flips["unit"].value_counts().reindex(list(units), fill_value=0).to_numpy(float)[:, None]
    return Observed(dataset=ALL_ITEMS, units=tuple(units), earned=n, counted=n * 0 + 1)


def judge_differences(base: CodedRun, after: CodedRun) -> list[Difference]:
    """What the judge's runs and the folders of flips differ in; other flips are meant to be there."""
    ours, theirs = judge_facts(base), judge_facts(after)
    of_runs = [
        *config_differences(base.config, after.config, FLIPS_KEYS),
        *provenance_differences(base.provenance, after.provenance),
    ]
    differences = [
        *(Difference(name, ours[name], theirs[name], serious=True) for name in ours if ours[name] != theirs[name]),
        *(
            replace(difference, what=f"the judge's {difference.what}")
            for difference in of_runs
            if difference.what not in (*FLIPS_KEYS, "item_set_hash") and not difference.what.startswith("inputs")
        ),
    ]
    return sorted(differences, key=lambda difference: not difference.serious)


def judge_facts(coded: CodedRun) -> dict[str, str]:
    """What makes a judge the same judge, and flips the same kind of flips."""
    model, facts = coded.config["model"], dict(coded.provenance.get("model") or {})
    manifest = read_manifest(flips_folder(coded.run), KIND)
    versions = {str(dict(prompt.factors)["template_version"]) for prompt in coded.run.plan}
    return {
        "the judge's model": str(model.get("name")),
        "the judge's revision": str(facts.get("checkpoint_hash") or facts.get("revision") or model.get("revision")),
        "the judge's prompt version": ", ".join(sorted(versions)),
        "framings": " and ".join(manifest["framings"]),
        "kinds of flips": ", ".join(manifest["kinds"]),
    }
