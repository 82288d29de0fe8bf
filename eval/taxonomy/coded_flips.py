"""A finished run of the taxonomy → flips with their codes, those of each model apart."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from eval.judge_names import judge_names
from eval.sampling_runs import FinishedRun, PlannedPrompt, load_finished
from evenhand.errors import DataError
from evenhand.excluded_units import read_excluded
from evenhand.manifest import MANIFEST_FILE
from evenhand.records import Completion
from studies.flips import flips_hash
from studies.taxonomy.code_replies import Coded, codes_in
from studies.taxonomy.section import KEY

TIE = "tie"  # several samples name different primary codes equally often
POOLED = "all models"


@dataclass(frozen=True, kw_only=True)
class CodedFlip:
    """One flip as a judge sorted it, perhaps several times."""

    flip_id: str
    dataset: str
    item_id: str
    claim_is_true: bool
    direction: str
    samples: tuple[Coded, ...]

    @property
    def unit(self) -> str:
        """What intervals are over: an item may flip twice, and in several models."""
        return unit_of(self.dataset, self.item_id)

    @property
    def claim(self) -> tuple[str, str, bool]:
        """The same in runs of other models."""
        return self.dataset, self.item_id, self.claim_is_true

    @cached_property
    def primary(self) -> str:
        """The primary code of most samples that could be read; "" where there is none."""
        ranked = Counter(one.primary for one in self.samples if one.is_read).most_common(2)
        is_tie = len(ranked) == 2 and ranked[0][1] == ranked[1][1]
        return "" if not ranked or is_tie else ranked[0][0]

    @cached_property
    def codes(self) -> frozenset[str]:
        """The primary code, and those that more than half of the samples list; none without a primary code."""
        read = [one for one in self.samples if one.is_read]
        listed = Counter(code for one in read for code in one.codes)
        often = {code for code, n in listed.items() if 2 * n > len(read)}
        return frozenset({self.primary, *often}) if self.primary else frozenset()

    @property
    def state(self) -> str:
        """Of the one sample; of several, why there is no primary code, or "ok"."""
        if len(self.samples) == 1:
            return self.samples[0].state
        if self.primary:
            return "ok"
        return TIE if any(one.is_read for one in self.samples) else self.samples[0].state


def unit_of(dataset: str, item_id: str) -> str:
    """What an item is called in every run."""
    return f"{dataset}: {item_id}"


@dataclass(frozen=True, kw_only=True)
class CodedRun:
    """The flips of one model that one judge sorted."""

    name: str  # what tables call it: the model, with the judge or the run where that is not enough
    model: str
    judge: str
    run: FinishedRun
    all_flips: Sequence[CodedFlip]
    n_excluded: int  # flips that did not fit the judge's context

    @cached_property
    def flips(self) -> list[CodedFlip]:
        """Those with a primary code: what every share is of."""
        return [flip for flip in self.all_flips if flip.primary]

    @property
    def states(self) -> Counter[str]:
        """State → how many replies; TIE counts flips."""
        found = Counter(one.state for flip in self.all_flips for one in flip.samples)
        ties = sum(flip.state == TIE for flip in self.all_flips)
        return found + Counter({TIE: ties})


def load_coded(paths: Sequence[Path]) -> list[CodedRun]:
    """Each model of each run, in the order given. Raises DataError for a run that is not complete."""
    found = [one for path in paths for one in coded_runs(path)]
    names = judge_names([one.model for one in found], [one.run.name for one in found], [one.judge for one in found])
    return [replace(one, name=name) for one, name in zip(found, names, strict=True)]


def coded_runs(path: Path) -> list[CodedRun]:
    """The models of one run."""
    run, by_model = load_finished(path), dict[str, list[CodedFlip]]()
    for prompt in run.plan:
        by_model.setdefault(str(dict(prompt.factors)["model"]), []).append(
            coded_flip(prompt, run.replies[prompt.prompt_hash])
        )
    n_excluded = len(read_excluded(path))
    return [
        CodedRun(name=model, model=model, judge=run.judge, run=run, all_flips=flips, n_excluded=n_excluded)
        for model, flips in by_model.items()
    ]


def coded_flip(prompt: PlannedPrompt, replies: Sequence[Completion]) -> CodedFlip:
    """A flip with what was said of it."""
    factors = dict(prompt.factors)
    return CodedFlip(
        flip_id=prompt.item_id,
        dataset=prompt.dataset,
        item_id=str(factors["item_id"]),
        claim_is_true=bool(factors["claim_is_true"]),
        direction=str(factors["direction"]),
        samples=tuple(codes_in(reply) for reply in replies),
    )


def pooled(found: Sequence[CodedRun]) -> CodedRun | None:
    """All models together, as the paper's tables have them; None where there is one, or a judge of each."""
    if len({one.model for one in found}) < len(found) or len({one.judge for one in found}) > 1 or len(found) < 2:
        return None
    together = [flip for one in found for flip in one.all_flips]
    n_excluded = sum(one.n_excluded for one in found)
    return replace(found[0], name=POOLED, model=POOLED, all_flips=together, n_excluded=n_excluded)


def flips_folder(run: FinishedRun) -> Path:
    """The folder of flips that a run was about: where its config says, or beside the run under the same name.

    Raises DataError when it is in neither place, or is not as it was when the run judged it.
    """
    named = run.config[KEY].get("flips")
    if named is None:
        raise DataError(f"{run.path}: judged made-up flips of ours; name a run over flips of a model")
    places = [Path(named), run.path.parent / Path(named).name]
    found = next((place for place in places if (place / MANIFEST_FILE).is_file()), None)
    if found is None:
        raise DataError(f"{run.path}: judged the flips in {named}, which are not there; restore them")
    if flips_hash(found) != dict(run.provenance.get("inputs") or {}).get(str(named)):
        raise DataError(f"{found}: is not as it was when {run.path} judged it; judge it anew, or restore it")
    return found
