"""How well replies are read: agree, wrong and lost in percent, by kind, against what a careful person reads in them.

`python -m bench.replies FOLDER [-v]`: a FOLDER of JSON lines with `text`, `finish` and `exp`: what is read, null where
nothing can be, or a list of what may be. A file's name says the study; `symbols` and `texts`, or a `kind` of KINDS, the
options, `framing` what the prompt says, `n` how many clusters there are, `options` or `names` who may be named.
"""

import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from eval.reading.reader import read
from evenhand.records import Completion
from studies.narrator.replies import read_answer
from studies.pluraleval.reply_reading import choice_in, cluster_in, entailment_in, stance_in
from studies.pluraleval.response_lists import responses_in

KINDS: dict[str, tuple[list[str], list[str]]] = {
    "num": (["1", "2"], ["Yes, the statement is correct.", "No, the statement is incorrect."]),
    "ab": (["A", "B"], []),
    "yn": (["yes", "no"], []),
    "tx": (["correct", "incorrect"], []),
    "nta": (["YTA", "NTA", "ESH"], []),
    "s10": ([str(score) for score in range(1, 11)], []),
}
OUTCOMES = ("agree", "wrong", "lost")


def outcome(row: Any, file: str) -> tuple[str, str, object]:
    """(kind, how it was read, what was read)."""
    kind, expected = file, row["exp"] if isinstance(row["exp"], list) else [row["exp"]]
    text = row["text"].replace("OPPOSING", "AGAINST")  # as the prompt has it
    reply = Completion(prompt_hash="", sample_index=0, text=text, finish_reason=row.get("finish", "stop"))
    names = row.get("options") or row.get("names")
    value: object
    if file == "lists":  # word for word; white space and markup are no matter
        expected, value = [words_of(row["exp"])], words_of(responses_in(reply).value)
    elif file == "assignments":
        value = cluster_in(reply, row["n"]).value
    elif file == "pairs":
        value = choice_in(reply).value
    elif file in ("stance", "stances"):
        is_yes = entailment_in(reply).value
        expected = ["AGAINST" if stance == "OPPOSING" else stance for stance in expected]
        value = stance_in(reply).value or None
        if row.get("id", "").startswith("entail"):
            value = None if is_yes is None else ("no", "yes")[is_yes]
    elif names and "symbols" not in row:
        expected = [None if value in ("both", "neither") else value for value in expected]
        value = read_answer(row["text"], names, reply.finish_reason).option
    else:
        kind = f"{file} {row['kind']}" if row.get("kind") in KINDS else file
        symbols, texts = (row["symbols"], row.get("texts")) if "symbols" in row else KINDS[row.get("kind", "num")]
        is_cut = reply.finish_reason == "length"
        place = read(row["text"], symbols, texts or (), quotable=row.get("framing", ""), is_cut=is_cut).place
        value = None if place is None else symbols[place]
    is_right = value in expected or (value is not None and str(value) in map(str, expected))
    return kind, "agree" if is_right else "lost" if value is None else "wrong", value


def words_of(texts: list[str] | None) -> list[list[str]] | None:
    """The words of each text; None where there is none."""
    return [re.findall(r"\w+", text) for text in texts or ()] or None


def main(folder: Path, *, is_verbose: bool) -> None:
    """Prints a line a kind, and one for all; verbose: also what was not read as expected."""
    counts: dict[str, Counter[str]] = {}
    for file in sorted(folder.glob("*.jsonl")):
        rows = [json.loads(line) for line in file.open(encoding="utf-8")]
        for row in rows if file.stem != "taxonomy" else ():
            kind, how, value = outcome(row, file.stem)
            for group in [kind, "all", *(["quoted"] if row.get("quoted") else [])]:
                counts.setdefault(group, Counter())[how] += 1
            if is_verbose and how != "agree":
                print(f"{how} {kind} {row['text'][-300:]!r}: {row['exp']!r}, read {value!r}")
    for kind, count in sorted(counts.items(), key=lambda pair: pair[0] == "all"):
        n = count.total()
        print(f"{kind} n={n}", *(f"{how} {100 * count[how] / n:.1f}" for how in OUTCOMES))


if __name__ == "__main__":
    main(Path(sys.argv[1]), is_verbose="-v" in sys.argv)
