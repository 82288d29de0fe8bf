"""Stages as a table for people. What is not known is a dash."""

from collections.abc import Sequence

from evenhand.cli.status.pipelines import JOB
from evenhand.cli.status.progress import Progress

HEAD = ("", "run", "done", "rate", "time left", "last write", "held by")
DASH = "–"
TO_THE_RIGHT = {"done", "rate", "time left", "last write"}


def printed(stages: Sequence[Progress]) -> str:
    """A line for each stage, and one below it for what is wrong there; then how many are complete."""
    rows = [HEAD, *map(cells, stages)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    lines = []
    for row, stage in zip(rows, [None, *stages], strict=True):
        padded = [
            cell.rjust(width) if name in TO_THE_RIGHT else cell.ljust(width)
            for cell, width, name in zip(row, widths, HEAD, strict=True)
        ]
        lines.append("  ".join(padded).rstrip())
        if stage and stage.note:
            lines.append(f"  {stage.note}")
    n_complete = sum(stage.state == "complete" for stage in stages)
    return "\n".join([*lines, f"{n_complete} of {len(stages)} complete"])


def cells(stage: Progress) -> tuple[str, ...]:
    """A stage in the columns of HEAD."""
    left = None if stage.state == "unfinished" else stage.state
    ago = lasting(stage.written_s_ago)
    return (
        stage.kind,
        str(stage.path),
        done_of(stage),
        rate(stage),
        left or lasting(stage.seconds_left),
        ago if ago == DASH else f"{ago} ago",
        holder(stage),
    )


def done_of(stage: Progress) -> str:
    """ "120 of 480 answers (25%)"; "of 480 so far" where replies lead to further prompts."""
    if stage.done is None and stage.planned is None:
        return DASH
    done, planned = (DASH if count is None else f"{count:,}" for count in (stage.done, stage.planned))
    share = f" ({int(100 * stage.done / stage.planned)}%)" if stage.planned and stage.done is not None else ""
    more = " so far" if stage.plan_grows else share
    return f"{done} of {planned} {stage.counts}{more}"


def rate(stage: Progress) -> str:
    """ "12.3/s", or an hour's where that is less than one a second."""
    if stage.per_second is None:
        return DASH
    return f"{stage.per_second:.1f}/s" if stage.per_second >= 1 else f"{3600 * stage.per_second:.0f}/h"


def lasting(seconds: float | None) -> str:
    """A time in its largest unit."""
    if seconds is None:
        return DASH
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}" if size >= 3600 else f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def holder(stage: Progress) -> str:
    """Who holds the lease."""
    if stage.state == "complete" or (stage.kind in ("sampling", JOB) and stage.holder is None):
        return DASH
    if stage.holder is None:
        return "nobody"
    return stage.holder if stage.silent_s is None else f"{stage.holder}, silent for {lasting(stage.silent_s)}"
