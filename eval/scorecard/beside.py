"""--beside NAME=RUN → the runs of further studies, by row."""

from collections.abc import Sequence
from pathlib import Path

from eval.run_studies import runs_by_study
from eval.scorecard.arms import BASE, CardArm, refuse_repeated
from evenhand.errors import DataError


def runs_beside(words: Sequence[str], sampled: Sequence[CardArm]) -> dict[str, dict[str, Path]]:
    """Study → row → its run, the base's first. The runs of an arm of several seeds are named in the seeds' order.

    Raises DataError for a name that no sampled row has, one named twice for a study, a run named twice, or no base.
    """
    names, arms = [arm.name for arm in sampled], {arm.arm for arm in sampled}
    found: dict[str, dict[str, Path]] = {}
    for word in words:
        name = max((name for name in {*names, *arms} if word.startswith(f"{name}=")), key=len, default=None)
        if name is None:
            raise DataError(
                f"--beside {word}: say it as NAME=RUN with the name of an arm that was sampled; those here: "
                f"{', '.join(names)}"
            )
        given = name
        path = Path(word[len(name) + 1 :])
        (study,) = runs_by_study([path])
        of_study = found.setdefault(study, {})
        if name not in names:  # an arm of several seeds: its next one
            name = next((row for row in names if row.startswith(f"{name}/") and row not in of_study), name)
        if name not in names:
            raise DataError(f"--beside {word}: '{given}' has fewer seeds than runs are named for it")
        if name in of_study:
            raise DataError(f"--beside: '{name}' is named twice, with {of_study[name]} and {path}")
        of_study[name] = path
    for of_study in found.values():
        if BASE not in of_study:
            raise DataError(f"--beside: changes are against the base's run, so name it too: --beside {BASE}=RUN")
        refuse_repeated(list(of_study.values()))
    return {study: {name: of[name] for name in names if name in of} for study, of in found.items()}
