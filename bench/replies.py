"""How well replies are read: agree, wrong and lost in percent, by file, against what a careful person reads in them.

`python -m bench.replies FOLDER [-v]`: a FOLDER of JSON lines with `text`, `finish`, `symbols`, `texts`, and `exp`: the
symbol, null where nothing can be read, or a list of what may be read; `framing` where the prompt's may be quoted, `n`
of clusters.
"""

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from eval.reading.reader import read
from evenhand.records import Completion
from studies.pluraleval.reply_reading import choice_in, cluster_in, stance_in
from studies.pluraleval.response_lists import responses_in

# Files of replies that a study reads itself.
READERS: dict[str, Any] = {
    "assignments": lambda reply, row: cluster_in(reply, row["n"]),
    "stance": lambda reply, _: stance_in(reply),
    "pairs": lambda reply, _: choice_in(reply),
}
OUTCOMES = ("agree", "wrong", "lost")


def outcome(row: Any) -> tuple[str, object, str]:
    """(how it was read, what was read, the state)."""
    text, is_cut = row["text"], row["finish"] == "length"
    expected = row["exp"] if isinstance(row["exp"], list) else [row["exp"]]
    reply = Completion(prompt_hash="", sample_index=0, text=text, finish_reason=row["finish"])
    if row["kind"] == "lists":
        responses, state = responses_in(reply)
        return "agree" if responses == (row["exp"] or []) else "wrong" if responses else "lost", responses, state
    expected = [None if value is None else str(value) for value in expected]
    if row["kind"] in READERS:
        value, state = READERS[row["kind"]](reply, row)
        said = None if value in (None, "") else str(value)
    else:
        symbols = row["symbols"]
        reading = read(text, symbols, row.get("texts") or (), quotable=row.get("framing", ""), is_cut=is_cut)
        said, state = (None if reading.place is None else symbols[reading.place]), reading.state
    return "agree" if said in expected else "lost" if said is None else "wrong", said, state


def main(folder: Path, *, is_verbose: bool) -> None:
    """Prints a line a file, and one for all; verbose: also what was not read as expected."""
    total: Counter[str] = Counter()
    for file in sorted(folder.glob("*.jsonl")):
        counts: Counter[str] = Counter()
        for row in map(json.loads, file.open(encoding="utf-8")):
            how, said, state = outcome(row)
            counts[how] += 1
            if is_verbose and how != "agree":
                print(f"{how} {row['id']} {row['text'][-300:]!r}: {row['exp']!r}, read {said!r} ({state})")
        total += counts
        print(file.stem, shares(counts))
    print("all", shares(total))


def shares(counts: Counter[str]) -> str:
    """Counts in percent."""
    n = counts.total()
    return f"n={n} " + " ".join(f"{how} {100 * counts[how] / n:.1f}" for how in OUTCOMES)


if __name__ == "__main__":
    main(Path(sys.argv[1]), is_verbose="-v" in sys.argv)
