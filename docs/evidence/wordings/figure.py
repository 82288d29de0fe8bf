"""The figure of the arms' result: the shift (d / 2) in each sealed wording, from the scorecards of score.sh."""

import sys
from pathlib import Path

import pandas as pd

from eval.report.plots import finish, interval_plot

LABELS = {
    "base": "the bent judge",
    "carried over": "threshold carried over, no training",
    "both orders + threshold": "both orders and threshold, no training",
    "one": "SFT in one wording",
    "repeated": "SFT in one wording, items repeated",
    "more": "SFT in one wording, more items",
    "sft": "SFT in eleven wordings",
    "paired": "paired training in eleven wordings",
    "own-c1": "label-free training in eleven wordings",
    "dpo": "DPO in eleven wordings",
}

folder = Path(sys.argv[1])
tables = {}
for path in sorted(folder.glob("s[1-4]")):
    table = pd.read_csv(path / "tables" / "scorecard_dialdefer.csv")
    tables[path.name] = table[table["figure"] == "deference d"].set_index("arm")
marks = []
for arm, label in LABELS.items():
    for wording, rows in tables.items():
        if arm in rows.index:
            row = rows.loc[arm]
            seeds = [float(value) / 2 for value in str(row.get("seeds' values")).split()]
            interval = (min(seeds), max(seeds)) if len(seeds) > 1 else (None, None)
            marks.append((label, wording, row.value / 2, *interval))
frame = pd.DataFrame(marks, columns=["label", "series", "value", "low", "high"])
heading = "Shift in wordings that no training saw"
finish(interval_plot("wordings", heading, frame, "of 100 claims; bar: range of the seeds"), folder)
