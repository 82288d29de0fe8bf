"""What a report shows beyond scores, each analysis made once, where there is something to analyse."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from eval.dialdefer.answer_orders import BOTH_ORDERS
from eval.dialdefer.averages import AIO
from eval.dialdefer.differences import arm_differences
from eval.dialdefer.domain_grid import DomainGrid, domain_grid
from eval.dialdefer.findings import Findings
from eval.dialdefer.item_scores import ItemSpread, item_spreads
from eval.dialdefer.judges import Judge
from eval.dialdefer.label_shifts import LabelShift, label_shifts
from eval.dialdefer.panel_selection import setting_panels
from eval.dialdefer.panels import Panel
from eval.dialdefer.reliability import Reliability, reliability
from eval.dialdefer.rerun_flip_rate import NoiseRow, noise_between, noise_within
from eval.dialdefer.row_groups import main_rows
from eval.dialdefer.score_groups import untreated_panels
from eval.dialdefer.scores import OWN
from eval.estimates.changes import Change
from evenhand.errors import DataError

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Analyses:
    """The analyses that a report's figures and tables draw on; empty where there is nothing to analyse."""

    judges: Sequence[Judge]  # those with the main setting
    grid: DomainGrid | None
    changes: Mapping[str, Sequence[Change]]  # judge → its arms and prompt variants against its untreated main one
    labels: Sequence[LabelShift]
    spreads: Sequence[ItemSpread]
    reliability: Mapping[str, Sequence[Reliability]]  # judges with margins
    noise: Sequence[NoiseRow]  # of several samples, and of runs that ask the base's model again
    left_out: list[str] = field(default_factory=list)  # what could not be made, and why


def analyse(found: Findings) -> Analyses:
    """All analyses of some findings. What the data does not allow is left out, and says why."""
    judges = [judge for judge in found.judges.values() if setting_panels(judge)]
    has_main = bool(main_rows(found.rows))
    left_out: list[str] = []
    options: dict[str, Any] = {"denominator": found.denominator, "drawing": found.drawing}
    return Analyses(
        judges=judges,
        grid=domain_grid(found.rows) if has_main else None,
        changes=changes_of(found, left_out),
        labels=tried("speaker labels", partial(label_shifts, judges, **options), left_out),
        spreads=item_spreads(judges, denominator=found.denominator) if judges else [],
        reliability={
            name: curves
            for name, judge in found.judges.items()
            if (curves := reliability(untreated_panels(judge.panels)))
        },
        noise=tried("noise floor", partial(noise_rows, found), left_out),
        left_out=left_out,
    )


def changes_of(found: Findings, left_out: list[str]) -> dict[str, Sequence[Change]]:
    """Judge → its arms and prompt variants against its untreated main one, for those judges that have any."""
    changes: dict[str, Sequence[Change]] = {}
    for name, judge in found.judges.items():
        rows = tried(
            f"{name}: arms and prompt variants",
            partial(arm_differences, judge, found.denominator, found.drawing),
            left_out,
        )
        if rows:
            changes[name] = rows
    return changes


def tried(what: str, make: Callable[[], Sequence[T]], left_out: list[str]) -> Sequence[T]:
    """What an analysis gives; where the data does not allow it, nothing, and the reason goes to `left_out`."""
    try:
        return make()
    except DataError as error:
        left_out.append(f"{what}: {error}")
        return []


def noise_rows(found: Findings) -> list[NoiseRow]:
    """The noise floor of every judge with several samples, and between the base and runs that are no other model."""
    rows = [
        row
        for judge in found.judges.values()
        if any(is_sampled(panel) for panel in judge.panels)
        for row in noise_within(judge)
    ]
    for base, again in reruns(found):
        rows += noise_between(found.judges[base], found.judges[again])
    return rows


def is_sampled(panel: Panel) -> bool:
    """Whether prompts were asked several times. Both answer orders taken together are two prompts, not one twice."""
    return panel.replies.shape[2] > 1 and panel.factors.answer_order != BOTH_ORDERS


def reruns(found: Findings) -> list[tuple[str, str]]:
    """(base, run) for every run after the base that asked the same model the same prompts."""
    labels = list(found.runs)
    return [
        (labels[0], label)
        for label in labels[1:]
        if not any(difference.serious for difference in found.differences[label])
        and found.runs[label].config["model"] == found.runs[labels[0]].config["model"]
    ]


def headline_changes(rows: Sequence[Change]) -> list[Change]:
    """Of a judge's changes the one in DDS for each setting: over its widest average, with own C1 where there is one."""
    settings: dict[tuple[Any, ...], list[Change]] = {}
    for row in rows:
        if row.measure == "dds":
            settings.setdefault(tuple(row.setting[key] for key in ("arm", "roles", "variant")), []).append(row)
    return [widest(of_setting) for of_setting in settings.values()]


def widest(rows: Sequence[Change]) -> Change:
    """The row over most datasets; own C1 before fixed C1, r/AIO's average before the benchmarks'."""
    own = [row for row in rows if row.setting["c1_source"] == OWN] or list(rows)
    most = max(len(row.datasets) for row in own)
    widest_rows = [row for row in own if len(row.datasets) == most]
    return next((row for row in widest_rows if row.datasets == (row.dataset,)), widest_rows[-1])


def has_labels(judge: Judge) -> bool:
    """Whether the community's verdict is known for every r/AIO item that a judge judged in the main setting."""
    panel = setting_panels(judge).get(AIO)
    return panel is not None and all(item in judge.labels for item in panel.item_ids)
