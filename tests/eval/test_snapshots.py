"""Scores, changes and scorecards of five planted sets of runs, as numbers that no rewriting may move.

`python -m tests.eval.test_snapshots --write [SET...]` writes snapshots/*.csv.gz anew. Where result files change their
form, rows_in changes; the stored numbers stay.
"""

import gzip
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from matplotlib.figure import Figure

from eval.__main__ import calibrate_main, compare_main, report_main, score_main, scorecard_main
from tests.made import planted_sets
from tests.made.report_html import without_drawing

STORED = Path(__file__).parent / "snapshots"
KEY = ["part", "judge", "setting", "dataset", "measure"]
FEW = ("--draws", "100")
NO_SETTING = {"run", "judge", "first", "second", "dataset", "datasets", "measure", "n_draws", "seed"}
NUMBERS = ["value", "low", "high", "n_units", "n_errors", "n_seeds", "p", "p_holm"]
NUMBERS += [f"{side}{end}" for side in ("before", "after", "change") for end in ("", "_low", "_high")]


def rows_in(folder: Path, stem: str) -> pd.DataFrame:
    """Rows of scores.json, compare.json, scorecard_changes.json or scorecard_seeds.json, their setting as one text.

    The judge of a change is "first > second".
    """
    rows = json.loads((folder / f"{stem}.json").read_text(encoding="utf-8"))
    frame = pd.DataFrame([{key: row.get(key) for key in ("dataset", "measure", *NUMBERS)} for row in rows])
    settings = [{k: v for k, v in row.items() if k not in NO_SETTING and k not in NUMBERS} for row in rows]
    judges = [row.get("judge") or f"{row['first']} > {row['second']}" for row in rows]
    return frame.assign(judge=judges, setting=list(map(text_of, settings)))


def threshold_rows(folder: Path) -> pd.DataFrame:
    """thresholds.json: a row a prompt variant, framing and number."""
    fits = json.loads((folder / "thresholds.json").read_text(encoding="utf-8"))["calibrations"]
    cells = [
        (text_of({"variant": fit["variant"]}), f"{framing}_{name}", value)
        for fit in fits
        for framing in ("c1", "c2")
        for name, value in fit[framing].items()
    ]
    return pd.DataFrame(cells, columns=["setting", "measure", "value"]).assign(judge="", dataset="")


def text_of(setting: dict[str, Any]) -> str:
    """ "name=value | name=value" in the order of names; what is unknown or empty is left out."""
    return " | ".join(f"{name}={value}" for name, value in sorted(setting.items()) if value not in (None, ""))


def in_parts(**frames: pd.DataFrame) -> pd.DataFrame:
    """Frames under each other, each with the name of its part."""
    return pd.concat([frame.assign(part=part) for part, frame in frames.items()], ignore_index=True)


def scored(out: Path, *words: object) -> pd.DataFrame:
    score_main([*map(str, words), *FEW, "--out", str(out)])
    return rows_in(out, "scores")


def compared(out: Path, *words: object) -> pd.DataFrame:
    compare_main([*map(str, words), *FEW, "--out", str(out)])
    return rows_in(out, "compare")


def carded(out: Path, *words: object) -> dict[str, pd.DataFrame]:
    scorecard_main([*map(str, words), *FEW, "--out", str(out)])
    stems = [stem for stem in ("scorecard_changes", "scorecard_seeds") if (out / f"{stem}.json").is_file()]
    return {stem: rows_in(out, stem) for stem in stems}


def dialdefer_reasoned(root: Path) -> pd.DataFrame:
    base, first, second = planted_sets.reasoned_runs(root)
    return in_parts(
        before=scored(root / "s", base),
        lenient=scored(root / "l", second, "--parser", "lenient", "--unparsed", "excluded"),
        compare=compared(root / "c", base, first, second),
        **carded(root / "card", base, f"sft={first}", f"sft={second}"),
    )


def dialdefer_margins(root: Path) -> pd.DataFrame:
    base, after, fitted = planted_sets.margin_runs(root)
    calibrate_main([str(fitted), str(base), "--out", str(root / "k")])
    return in_parts(
        before=scored(root / "s", base),
        compare=compared(root / "c", base, after),
        thresholds=threshold_rows(root / "k"),
        **carded(root / "card", base, f"sft={after}", "--calibrated", root / "k" / "thresholds.json", "--oracle"),
    )


def narrator(root: Path) -> pd.DataFrame:
    (base, after, third), exact = planted_sets.narrator_set(root)
    report_main(["--side-by-side", *map(str, exact), *FEW, "--out", str(root / "r")])
    return in_parts(
        before=scored(root / "s", base),
        compare=compared(root / "c", base, after, third),
        pooled=rows_in(root / "r", "scores"),
        **carded(root / "card", base, f"sft={after}", f"dpo={third}"),
    )


def pluraleval(root: Path) -> pd.DataFrame:
    (_, base), (_, after), (responses, third) = planted_sets.pluraleval_runs(root)
    return in_parts(
        before=scored(root / "s", base),
        after=scored(root / "s2", after),
        responses=scored(root / "s3", responses),
        compare=compared(root / "c", base, after, third),
        **carded(root / "card", base, f"sft={after}", f"dpo={third}"),
    )


def taxonomy(root: Path) -> pd.DataFrame:
    both, before, after = planted_sets.coded_runs(root)
    return in_parts(
        both=scored(root / "s", both), before=scored(root / "s2", before), compare=compared(root / "c", before, after)
    )


SETS = (dialdefer_reasoned, dialdefer_margins, narrator, pluraleval, taxonomy)


def keyed(frame: pd.DataFrame) -> pd.DataFrame:
    """Numbers by key. No two rows have one key."""
    frame = frame.assign(**{key: frame[key].fillna("").astype(str) for key in KEY})
    frame = frame.set_index(KEY)
    frame = frame.reindex(columns=NUMBERS).astype(float).sort_index()
    assert not frame.index.has_duplicates, frame[frame.index.duplicated(keep=False)].head(10).to_string()
    return frame


@pytest.mark.parametrize("planted", SETS, ids=lambda planted: planted.__name__)
def test_numbers_are_those_of_the_snapshot(
    planted: Callable[[Path], pd.DataFrame], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Figure, "savefig", without_drawing)
    stored = pd.read_csv(STORED / f"{planted.__name__}.csv.gz", keep_default_na=False, na_values=[""])
    pd.testing.assert_frame_equal(keyed(planted(tmp_path)), keyed(stored), rtol=1e-12, atol=1e-12)


if __name__ == "__main__":
    if "--write" not in sys.argv:
        sys.exit(__doc__)
    Figure.savefig = without_drawing
    for planted in SETS:
        if planted.__name__ in sys.argv or sys.argv[-1] == "--write":
            with tempfile.TemporaryDirectory() as folder:
                frame = keyed(planted(Path(folder)))
            text = frame.reset_index().to_csv(index=False, lineterminator="\n")
            (STORED / f"{planted.__name__}.csv.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
            print(f"{planted.__name__}: {len(frame)} rows", file=sys.stderr)
