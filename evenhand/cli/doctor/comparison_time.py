"""Hours of a whole comparison: a base, arms with several seeds, and every sampling config asked of each judge."""

from collections.abc import Sequence

from evenhand.cli.doctor.check import Check, Examined, ok, unknown

SUBJECT = "comparison"


def comparison_check(configs: Sequence[Examined], n_seeds: int, base: Examined | None = None) -> Check:
    """What `slurm/pipeline.sh` with SEEDS=n_seeds takes: each training n_seeds times, each sampling for every judge.

    base: the training of BASE_TRAINING, which is no arm and is trained once.
    """
    trained = [one for one in configs if one.kind == "training"]
    sampled = [one for one in configs if one.kind == "sampling"]
    n_judges = 1 + n_seeds * len(trained)
    judges = f"{n_seeds} x {len(trained)} trained judges and the base; {len(sampled)} x {n_judges} sampling runs"
    once = [base] if base else []
    untimed = [one for one in [*once, *trained, *sampled] if device_hours(one) is None]
    if untimed:
        return unknown(SUBJECT, f"{judges}: {len(untimed)} of the configs have no time, see theirs")
    training = sum(device_hours(one) or 0 for one in [*once, *(n_seeds * trained)])
    sampling = n_judges * sum(device_hours(one) or 0 for one in sampled)
    total = training + sampling
    told = f"{judges}: {total:.3g} device-hours, {training:.3g} of training and {sampling:.3g} of sampling"
    return ok(SUBJECT, f"{told}; merging, scoring and the base on training items not counted", device_hours=total)


def device_hours(examined: Examined) -> float | None:
    """Of one job of a config; None where its time could not be estimated."""
    for check in examined.checks:
        if "seconds" in check.figures:
            return check.figures["seconds"] * check.figures["n_gpus"] / 3600
    return None
