"""Before and after: which flips a mitigation removed, which it left, and which it made, by code."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from eval.annotation.agreement import share_of
from eval.estimates.changes import Change, Compared, adjusted, change_in, paired
from eval.estimates.comparability import Difference, config_differences, provenance_differences
from eval.estimates.estimate import Estimate
from eval.estimates.observed import Drawing, Measure, Observed, added_up
from eval.taxonomy.coded_flips import CodedFlip, CodedRun, flips_folder, unit_of
from evenhand.errors import DataError
from evenhand.manifest import read_manifest
from studies.flips import KIND, read_flips
from studies.taxonomy.codebook import categories, category_of, codes
from studies.taxonomy.section import KEY

ANY = "any flip"
NOT_CODED = "not coded"  # a flip whose judgement could not be read
CODE, CATEGORY = "code", "category"
ALL_ITEMS = "all items"
FACTS = ("the judge's model", "the judge's revision", "the judge's prompt version", "framings", "kinds of flips")
PER_100 = Measure(
    name="flips_per_100_items", unit="%", statistic=lambda means: 100 * means[..., 0], interval="cluster_t"
)
Claim = tuple[str, str, bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """What became of the flips of one code. Estimates are in percent, with intervals over items."""

    label: str
    level: str  # CODE or CATEGORY; ANY and NOT_CODED are of the first
    n_before: int
    n_removed: int  # flips before, none after
    n_unknown: int  # flips before whose claim has no verdict after: neither removed nor left
    n_same: int  # flips before and after, of this label both times
    n_after: int
    n_made: int  # flips after, none before
    removed: Estimate  # of the flips before whose claim has a verdict after
    made: Estimate  # of the flips after whose claim has a verdict before
    change: Change  # of flips per 100 items

    @property
    def n_left(self) -> int:
        """Flips before and after, whatever the label is after."""
        return self.n_before - self.n_removed - self.n_unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """One mitigation against the base."""

    base: str
    name: str
    n_items: int
    fates: Sequence[Fate]
    differences: Sequence[Difference]


def moved_from(base: CodedRun, afters: Sequence[CodedRun], drawing: Drawing) -> list[Moved]:
    """Of each run after the base; p is adjusted over them. Raises DataError where runs cannot be paired."""
    found = [moved(base, after, drawing) for after in afters]
    of_sides = adjusted([[fate.change for fate in one.fates] for one in found])
    return [
        replace(
            one,
            fates=[replace(fate, change=change) for fate, change in zip(one.fates, changes, strict=True)],
        )
        for one, changes in zip(found, of_sides, strict=True)
    ]


def moved(base: CodedRun, after: CodedRun, drawing: Drawing) -> Moved:
    """One of them, over the items that both were looked for flips in."""
    ours, theirs = searched(base), searched(after)
    units = [unit for unit in ours.units if unit in set(theirs.units)]
    if not units:
        raise DataError(f"{after.run.path}: its flips are of other items than those of {base.run.path}")
    sides = only(ours, units), only(theirs, units)
    labels = [(ANY, CODE), *((code, CODE) for code in codes()), (NOT_CODED, CODE)]
    labels += [(of.category, CATEGORY) for of in categories()]
    compared = Compared(base.name, after.name, {"judged_by": base.judge})
    return Moved(
        base=base.name,
        name=after.name,
        n_items=len(units),
        fates=[fate(label, level, *sides, compared, drawing) for label, level in labels],
        differences=judge_differences(base, after),
    )


class Searched(NamedTuple):
    """Where flips were looked for, and what was found."""

    units: Sequence[str]  # all items, whether they flip or not
    flips: Mapping[Claim, CodedFlip]
    undecided: Collection[Claim]  # without a verdict on one side or both


def searched(one: CodedRun) -> Searched:
    """Of one model, from the folder of its flips: also those that did not fit the judge's context, without a code.

    Raises DataError where only some of the flips were judged.
    """
    if one.run.config[KEY].get("n_flips") is not None:
        raise DataError(f"{one.run.path}: judged some of the flips alone (taxonomy.n_flips); judge all to compare")
    folder = flips_folder(one.run)
    manifest, coded = read_manifest(folder, KIND), {flip.flip_id: flip for flip in one.all_flips}
    flips = [
        coded.get(flip.flip_id)
        or CodedFlip(
            flip_id=flip.flip_id,
            dataset=flip.dataset,
            item_id=flip.item_id,
            claim_is_true=flip.claim_is_true,
            direction=flip.direction,
            samples=(),
        )
        for flip in read_flips(folder)
        if flip.model == one.model
    ]
    items, undecided = (manifest[name].get(one.model, {}) for name in ("items", "undecided"))
    return Searched(
        units=[unit_of(dataset, item) for dataset, of_dataset in items.items() for item in of_dataset],
        flips={flip.claim: flip for flip in flips},
        undecided={(dataset, item, is_true) for dataset, claims in undecided.items() for item, is_true in claims},
    )


def only(side: Searched, units: Sequence[str]) -> Searched:
    """What there is of some items."""
    kept = set(units)
    return Searched(units, {claim: flip for claim, flip in side.flips.items() if flip.unit in kept}, side.undecided)


def is_of(flip: CodedFlip, label: str) -> bool:
    """Whether a flip counts under a label."""
    code = flip.primary or NOT_CODED
    return label in (ANY, code, category_of().get(code))


def fate(label: str, level: str, before: Searched, after: Searched, compared: Compared, drawing: Drawing) -> Fate:
    """Of one label, over the same items."""
    ours, theirs = ([flip for flip in side.flips.values() if is_of(flip, label)] for side in (before, after))
    removed = [(flip.unit, flip.claim not in after.flips, 1.0) for flip in ours if flip.claim not in after.undecided]
    made = [(flip.unit, flip.claim not in before.flips, 1.0) for flip in theirs if flip.claim not in before.undecided]
    pair = paired(counted(ours, before.units), counted(theirs, before.units), drawing)
    setting = {**compared.setting, "level": level, "label": label}
    return Fate(
        label=label,
        level=level,
        n_before=len(ours),
        n_removed=sum(is_removed for _, is_removed, _ in removed),
        n_unknown=len(ours) - len(removed),
        n_same=sum(flip.claim in after.flips and is_of(after.flips[flip.claim], label) for flip in ours),
        n_after=len(theirs),
        n_made=sum(is_made for _, is_made, _ in made),
        removed=share_or_none(removed),
        made=share_or_none(made),
        change=change_in(PER_100, [pair], Compared(compared.first, compared.second, setting), ALL_ITEMS),
    )


def counted(flips: Sequence[CodedFlip], units: Sequence[str]) -> Observed:
    """Flips of each item."""
    n = dict.fromkeys(units, 0)
    for flip in flips:
        n[flip.unit] += 1
    return added_up(ALL_ITEMS, [[(unit, float(count), 1.0) for unit, count in n.items()]])


def share_or_none(rows: Sequence[tuple[str, bool, float]]) -> Estimate:
    """A share over items, unknown without flips."""
    return share_of(rows) if rows else Estimate(value=None, low=None, high=None, n_units=0)


def judge_differences(base: CodedRun, after: CodedRun) -> list[Difference]:
    """What the judge's runs and the folders of flips differ in; other flips are meant to be there."""
    found = list[Difference]()
    for name, one, other in zip(FACTS, judge_facts(base), judge_facts(after), strict=True):
        if one != other:
            found.append(Difference(name, one, other, serious=True))
    flips = f"{KEY}.flips"
    for of in config_differences(base.run.config, after.run.config, (flips,)):
        if of.what != flips:
            found.append(named(of))
    found += [
        named(of)
        for of in provenance_differences(base.run.provenance, after.run.provenance)
        if of.what != "item_set_hash" and not of.what.startswith("inputs")
    ]
    return sorted(found, key=lambda difference: not difference.serious)


def named(of: Difference) -> Difference:
    """A difference as one of the judge's run."""
    return Difference(f"the judge's {of.what}", of.base, of.after, of.serious)


def judge_facts(one: CodedRun) -> tuple[str, ...]:
    """What makes a judge the same judge, and flips the same kind of flips."""
    model, facts = one.run.config["model"], dict(one.run.provenance.get("model") or {})
    versions = sorted({str(dict(prompt.factors)["template_version"]) for prompt in one.run.plan})
    manifest = read_manifest(flips_folder(one.run), KIND)
    revision = facts.get("checkpoint_hash") or facts.get("revision") or model.get("revision")
    return (
        str(model.get("name")),
        str(revision),
        ", ".join(versions),
        " and ".join(manifest["framings"]),
        ", ".join(manifest["kinds"]),
    )
