"""The figure of the arms' result: d of each arm in each sealed wording, from the scorecards that score.sh wrote."""

import sys
from pathlib import Path

import pandas as pd

from eval.report.plots import finish, interval_plot

WORDS = {
    "base": "before training",
    "calibrated": "thresholds",
    "one": "the paper's SFT",
    "repeated": "the paper's SFT, items repeated",
    "more": "the paper's SFT, more items",
    "sft": "SFT over variants",
    "paired": "paired over variants",
    "own-c1": "label-free over variants",
    "dpo": "DPO over variants",
}

folder = Path(sys.argv[1])
marks = []
for path in sorted(folder.glob("s[1-4]")):
    rows = pd.read_csv(path / "tables" / "scorecard_dialdefer_deference.csv").set_index("arm")
    for arm, words in WORDS.items():
        if arm in rows.index:
            row = rows.loc[arm]
            seeds = [float(value) for value in str(row.get("seeds' values")).split()]
            ends = {"low": min(seeds), "high": max(seeds)} if len(seeds) > 1 else {"low": None, "high": None}
            marks.append({"label": words, "order": list(WORDS).index(arm), "series": path.name, "value": row.value, **ends})
frame = pd.DataFrame(marks).sort_values(["order", "series"])
heading = "Deference d in four wordings that no arm was trained in"
finish(interval_plot("wordings", heading, frame, "d, percentage points; bar: range of the seeds"), folder)
