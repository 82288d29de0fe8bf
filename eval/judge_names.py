"""What tables call the judges that stand in them together."""

from collections.abc import Sequence


def judge_names(
    models: Sequence[str], runs: Sequence[str], ways: Sequence[str] = (), taken: Sequence[str] = ()
) -> list[str]:
    """A name for each judge: its model; where that is not enough the way it was read, else the run's name.

    ways: how each was read, where judges of one model may differ in that; taken: names of others beside them.
    """
    read = list(zip(models, ways or [""] * len(models), strict=True))
    names = []
    for (model, way), run in zip(read, runs, strict=True):
        is_told = way and read.count((model, way)) == 1
        names.append(model if [*models, *taken].count(model) == 1 else f"{model} ({way if is_told else run})")
    return names
