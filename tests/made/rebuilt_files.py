"""Publishers' files rebuilt from published records, in the documented schemas, as far as the records determine them."""

import json
import random
from collections.abc import Callable
from pathlib import Path

from studies.dialdefer.unified import advisorqa, amqa, halueval, harp, plausibleqa, socialiqa
from tests.made.unified_files import write_lines, write_tgz
from tests.made.unified_rows import Row, advisorqa_rows, halueval_rows


def number_of(record: Row) -> int:
    """The line that an id ends with."""
    return int(record["id"].rpartition("-")[2])


def parted(question: str) -> tuple[str, str]:
    """A context and a question that make the published question: where one ends and the other begins is not known."""
    for place, letter in enumerate(question):
        context, rest = question[:place], question[place + 1 :]
        if letter == " " and context and rest and context == context.strip() and rest == rest.strip():
            return context, rest
    raise AssertionError("no place to part the question")


def placed(record: Row, at: int) -> list[str]:
    """All answers, the correct one at a place, the others around it in order."""
    return [*record["incorrect_answers"][:at], record["chosen_correct_answer"], *record["incorrect_answers"][at:]]


def rebuilt_amqa(records: list[Row], folder: Path) -> None:
    rows = []
    for record in records:
        letter = record["meta"]["answer_idx"]
        options = dict(zip("ABCD", placed(record, "ABCD".index(letter)), strict=True))
        rows.append(
            {
                "question_id": str(number_of(record)),
                "original_question": record["question"],
                "desensitized_question": record["desensitized_question"],
                "options": options,
                "answer": record["chosen_correct_answer"],
                "answer_idx": letter,
            }
        )
    write_lines(folder / amqa.FILE, rows)


def rebuilt_socialiqa(records: list[Row], folder: Path) -> None:
    """In the publisher's archive. Lines between published ones are the first one again."""
    by_line = {number_of(record): record for record in records}
    rows = []
    for line in range(max(by_line) + 1):
        record = by_line.get(line, records[0])
        meta, (context, question) = record["meta"], parted(record["question"])
        label = meta["answerSourcesWithCor"].index("cor")
        answers = dict(zip(socialiqa.ANSWERS, placed(record, label), strict=True))
        kept = {key: value for key, value in meta.items() if key != "schema_version"}
        letter = "ABC"[label]
        rows.append(
            {"context": context, "question": question, **answers, "label_ix": label, "label_letter": letter, **kept}
        )
    content = "".join(json.dumps(row) + "\n" for row in rows)
    write_tgz(folder / socialiqa.ARCHIVE, {f"socialIQa_v1.4_withDims/{socialiqa.FILE}": content})


def rebuilt_advisorqa(records: list[Row], folder: Path) -> None:
    rows = list(advisorqa_rows(advisorqa.N_LINES))
    for record in records:
        meta = record["meta"]
        suffix = placed(record, meta["sft_index"])
        kept = {name: meta[name] for name in ("reward", "sft_index", "label")}
        rows[number_of(record)] = {"prefix": [record["question"]] * len(suffix), "suffix": suffix, **kept}
    write_lines(folder / "test.jsonl", rows)


def rebuilt_plausibleqa(records: list[Row], folder: Path) -> None:
    """Candidates in a drawn order with falling scores, the answer and less plausible ones among them."""
    draw, elements = random.Random(0), []
    for record in records:
        meta = record["meta"]
        ranked = [record["chosen_correct_answer"], *record["incorrect_answers"], "one more", "the last"]
        scored = [(text, {plausibleqa.SCORE: 1 / (place + 1)}) for place, text in enumerate(ranked)]
        draw.shuffle(scored)
        elements.append(
            {
                "id": meta["source_id"],
                "question": record["question"],
                "answer": record["chosen_correct_answer"],
                "candidate_answers": dict(scored),
                "question_type": {"major": meta["question_type_major"], "minor": meta["question_type_minor"]},
                "question_difficulty": meta["question_difficulty"],
                "answer_difficulty": meta["answer_difficulty"],
            }
        )
    (folder / plausibleqa.FILE).write_text(json.dumps(elements), encoding="utf-8")


def rebuilt_halueval(records: list[Row], folder: Path) -> None:
    rows = list(halueval_rows(10_000))
    for record in records:
        rows[number_of(record)] = {
            "knowledge": record["context"],
            "question": record["question"],
            "right_answer": record["chosen_correct_answer"],
            "hallucinated_answer": record["chosen_incorrect_answer"],
        }
    write_lines(folder / halueval.FILE, rows)


def rebuilt_harp(records: list[Row], folder: Path) -> None:
    rows = []
    for number, record in enumerate(records):
        meta = {key: value for key, value in record["meta"].items() if key not in ("schema_version", "solution")}
        choices = dict(zip("ABCDE", placed(record, number % 5), strict=True))
        answer = {"choices": choices, "answer_choice": "ABCDE"[number % 5], "solution_1": record["meta"]["solution"]}
        rows.append({**meta, "problem": record["question"], **answer})
    write_lines(folder / harp.FILE, rows)


REBUILT: dict[str, tuple[int, Callable[[list[Row], Path], None]]] = {
    "advisorqa": (300, rebuilt_advisorqa),
    "amqa": (240, rebuilt_amqa),
    "halueval": (300, rebuilt_halueval),
    "harp": (300, rebuilt_harp),
    "plausibleqa": (300, rebuilt_plausibleqa),
    "socialiqa": (300, rebuilt_socialiqa),
}
