"""A finished run of the taxonomy → a frame of flips with their codes, those of each model apart."""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from eval.reading.objects import OK, broken, json_in
from eval.runs import FinishedRun, PlannedPrompt
from evenhand.errors import DataError
from evenhand.records import Completion
from evenhand.thoughts import without_thinking
from studies.built_folder import MANIFEST_FILE, folder_read, read_manifest
from studies.flips import KIND, flips_hash, read_flips
from studies.taxonomy.codebook import CATEGORY_OF, CODES, UNEXPLAINED
from studies.taxonomy.section import KEY

TIE = "tie"  # several samples name different primary codes equally often
POOLED = "all models"
BETWEEN = "|"  # of the codes of one flip
NOT_CODED = "not coded"  # a flip whose judgement could not be read
# States of a reply: whatever it is, it has one; nothing is raised or guessed
NOT_LISTED = "primary_not_listed"  # the primary code is not among those that apply; it counts as one of them
UNKNOWN_CODES = "unknown_codes"  # what is in no codebook was left out of the list
UNEXPLAINED_TOO = "unexplained_with_others"  # UN1 beside other codes: the primary one counts, and the list as it is
NO_PRIMARY = "no_primary"  # JSON without a primary code of the codebook
CONTRADICTORY = "contradictory"  # names several primary codes
PRIMARY = re.compile(r'"primary"\s*:\s*"([^"]*)"')


class Coded(NamedTuple):
    """What one reply names: no codes where it could not be read."""

    state: str
    primary: str = ""
    codes: frozenset[str] = frozenset()


def codes_in(reply: Completion) -> Coded:
    """All codes that apply, and the primary one."""
    text = without_thinking(reply.text)
    parsed = json_in(text)
    if not isinstance(parsed, dict) or not isinstance(parsed.get("codes"), list):
        return Coded(broken(reply))
    primary = code_in(parsed.get("primary"))
    if not primary:
        return Coded(NO_PRIMARY)
    if len({code_in(named) for named in PRIMARY.findall(text)}) > 1:
        return Coded(CONTRADICTORY)
    listed = [code_in(entry) for entry in parsed["codes"]]
    named = frozenset(code for code in listed if code)
    is_beside = UNEXPLAINED in named and len(named) > 1
    states = {UNKNOWN_CODES: "" in listed, NOT_LISTED: primary not in named, UNEXPLAINED_TOO: is_beside, OK: True}
    return Coded(next(state for state, holds in states.items() if holds), primary, named | {primary})


def code_in(entry: object) -> str:
    """A code of the codebook as it is written there; "" for anything else."""
    code = entry.strip().upper() if isinstance(entry, str) else ""
    return code if code in CODES else ""


class Searched(NamedTuple):
    """Where the flips of one model were looked for, and what was there."""

    units: Collection[str]  # all items, whether they flip or not
    flips: pd.DataFrame  # claim, unit, code, category
    undecided: Mapping[str, str]  # claim without a verdict in one framing or both → its unit


@dataclass(frozen=True, kw_only=True, eq=False)
class CodedRun:
    """The flips of one model that one judge sorted.

    flips has a row for each flip: flip_id, model, dataset, item_id, claim_is_true, direction; unit (what intervals are
    over: an item may flip twice, and in several models); primary (the code of most samples, "" where there is none),
    its category, codes (the primary code and those that more than half of the samples list, with a bar between them)
    and state; states (of each sample) and primaries (of each sample that could be read).
    """

    judge: str  # the model whose flips they are
    run: FinishedRun  # the judge's
    flips: pd.DataFrame
    n_excluded: int  # flips that did not fit the judge's context

    name = property(lambda self: str(self.run.name))
    judged_by = property(lambda self: str(self.run.judge))
    config = property(lambda self: self.run.config)
    provenance = property(lambda self: self.run.provenance)

    @cached_property
    def searched(self) -> Searched:
        """Of the folder of its flips: also those that did not fit the judge's context, without a code."""
        folder = flips_folder(self.run)
        manifest, labels = read_manifest(folder, KIND), self.flips.set_index("flip_id")[["primary", "category"]]
        judged = [flip for flip in read_flips(folder) if flip.model == self.judge]
        rows = [
            (f.flip_id, unit_of(f.dataset, f.item_id), claim_of(f.dataset, f.item_id, f.claim_is_true)) for f in judged
        ]
        flips = pd.DataFrame(rows, columns=["flip_id", "unit", "claim"]).join(labels, on="flip_id")
        flips["code"] = flips["primary"].fillna("").replace("", NOT_CODED)
        items, undecided = (manifest[name].get(self.judge, {}) for name in ("items", "undecided"))
        return Searched(
            units=[unit_of(dataset, item) for dataset, of_dataset in items.items() for item in of_dataset],
            flips=flips,
            undecided={
                claim_of(dataset, item, is_true): unit_of(dataset, item)
                for dataset, claims in undecided.items()
                for item, is_true in claims
            },
        )


def coded_runs(run: FinishedRun) -> list[CodedRun]:
    """The models of one run."""
    flips = pd.DataFrame([flip_row(prompt, run.replies[prompt.prompt_hash]) for prompt in run.plan])
    by_model = flips.groupby("model", sort=False)
    return [CodedRun(judge=m, run=run, flips=of_model, n_excluded=len(run.excluded)) for m, of_model in by_model]


def flip_row(prompt: PlannedPrompt, replies: Sequence[Completion]) -> dict[str, Any]:
    """A flip with what a judge said of it, perhaps several times; see CodedRun."""
    factors, samples = dict(prompt.factors), [codes_in(reply) for reply in replies]
    read = [sample for sample in samples if sample.primary]
    ranked = Counter(sample.primary for sample in read).most_common(2)
    is_tie = len(ranked) == 2 and ranked[0][1] == ranked[1][1]
    primary = "" if not ranked or is_tie else ranked[0][0]
    listed = Counter(code for sample in read for code in sample.codes)
    codes = {primary, *(code for code, n in listed.items() if 2 * n > len(read))} if primary else set()
    of_several = "ok" if primary else TIE if is_tie else samples[0].state
    return {
        "model": str(factors["model"]),
        "flip_id": prompt.item_id,
        "dataset": prompt.dataset,
        "item_id": str(factors["item_id"]),
        "claim_is_true": bool(factors["claim_is_true"]),
        "direction": str(factors["direction"]),
        "unit": unit_of(prompt.dataset, str(factors["item_id"])),
        "primary": primary,
        "category": CATEGORY_OF.get(primary, ""),
        "codes": BETWEEN.join(sorted(codes)),
        "state": samples[0].state if len(samples) == 1 else of_several,
        "states": tuple(sample.state for sample in samples),
        "primaries": tuple(sample.primary for sample in read),
    }


def unit_of(dataset: str, item_id: str) -> str:
    """What an item is called in every run."""
    return f"{dataset}: {item_id}"


def claim_of(dataset: str, item_id: str, is_true: bool) -> str:
    """What a claim is called in runs of every model."""
    return f"{unit_of(dataset, item_id)}, {bool(is_true)}"


def all_flips(judges: Mapping[str, CodedRun], *, is_pooled: bool) -> pd.DataFrame:
    """The flips of all of them, with judge (what tables call the model), run and judged_by.

    is_pooled: all models together come first, as the paper's tables have them, where one judge sorted those of several.
    """
    apart = [run.flips.assign(judge=name, run=run.name, judged_by=run.judged_by) for name, run in judges.items()]
    models, judged_by = ({getattr(coded, name) for coded in judges.values()} for name in ("judge", "judged_by"))
    if is_pooled and len(models) == len(judges) > 1 and len(judged_by) == 1:
        runs = " ".join(dict.fromkeys(run.name for run in judges.values()))
        apart = [flips.assign(judge=POOLED, run=runs) for flips in apart] + apart
    return pd.concat(apart, ignore_index=True)


def flips_folder(run: FinishedRun) -> Path:
    """The folder of flips that a run was about. Raises DataError as folder_read, and for made-up flips."""
    named = run.config[KEY].get("flips")
    if named is None:
        raise DataError(f"{run.path}: judged made-up flips of ours; name a run over flips of a model")
    return folder_read(run, named, MANIFEST_FILE, flips_hash)
