"""Stages as a table for people. What is not known is a dash."""

from collections.abc import Sequence

from evenhand.cli.status.runs import Progress

HEAD = ("", "run", "done", "rate", "time left", "last write", "held by")
DASH = "–"


def printed(stages: Sequence[Progress]) -> str:
    """A line for each stage, and one below it for what is wrong there; then how many are complete."""
    rows = [HEAD, *map(cells, stages)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row, stage in zip(rows, [None, *stages], strict=True):
        lines.append("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
        if stage and stage.note:
            lines.append(f"  {stage.note}")
    n_complete = sum(stage.state == "complete" for stage in stages)
    return "\n".join([*lines, f"{n_complete} of {len(stages)} complete"])


def cells(stage: Progress) -> tuple[str, ...]:
    """A stage in the columns of HEAD."""
    rate, holder = DASH, stage.holder or ("nobody" if stage.kind in ("training", "merge") else DASH)
    if stage.per_second is not None:  # an hour's where it is less than one a second
        slow = f"{3600 * stage.per_second:.0f}/h"
        rate = f"{stage.per_second:.1f}/s" if stage.per_second >= 1 else slow
    if stage.silent_s is not None:
        holder += f", silent for {lasting(stage.silent_s)}"
    return (
        stage.kind,
        str(stage.path),
        done_of(stage),
        rate,
        lasting(stage.seconds_left) if stage.state == "unfinished" else stage.state,
        DASH if stage.written_s_ago is None else f"{lasting(stage.written_s_ago)} ago",
        DASH if stage.state == "complete" else holder,
    )


def done_of(stage: Progress) -> str:
    """ "120 of 480 answers (25%)"; "of 480 so far" where replies lead to further prompts."""
    if stage.done is None and stage.planned is None:
        return DASH
    done, planned = (DASH if count is None else f"{count:,}" for count in (stage.done, stage.planned))
    share = f" ({int(100 * stage.done / stage.planned)}%)" if stage.planned and stage.done is not None else ""
    return f"{done} of {planned} {stage.counts}{' so far' if stage.plan_grows else share}"


def lasting(seconds: float | None) -> str:
    """A time in its largest unit."""
    if seconds is None:
        return DASH
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}" if size >= 3600 else f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
