"""Publishers' files → Items, one converter a dataset. Ids come from line numbers or from the publisher's own."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from evenhand.data_files import csv_records, opened
from evenhand.data_files import rows as json_records
from evenhand.errors import DataError
from evenhand.sources.record_fields import Record, shown
from studies.dialdefer.archives import first_present, member_lines, records_in
from studies.dialdefer.records import BENCHMARK, INCORRECT_ANSWERS, Item

ADVISORQA_LINES = 1_000
AMQA_GROUPS = ("white", "black", "high_income", "low_income", "male", "female")
BBQ_ANSWERS = ("ans0", "ans1", "ans2")
# GPQA's authors ask that no example be shown in plain text online; the password is the one their readme gives.
GPQA_PASSWORD = b"deserted-untie-orchid"
GPQA_META = {
    "subdomain": "Subdomain",
    "domain": "High-level domain",
    "writer_difficulty": "Writer's Difficulty Estimate",
    "explanation": "Explanation",
}
GPQA_WRONG = ("Incorrect Answer 1", "Incorrect Answer 2", "Incorrect Answer 3")
PLAUSIBILITY = "init_plackett_luce"
N_PLAUSIBLE = 3  # wrong candidates that are kept, of up to ten
SOCIALIQA_ANSWERS = ("answerA", "answerB", "answerC")
SOCIALIQA_DIMENSIONS = ("oEffect", "oReact", "oWant", "xAttr", "xEffect", "xIntent", "xNeed", "xReact", "xWant")
TRUTHFULQA_COLUMNS = ("Type", "Category", "Question", "Best Answer", "Best Incorrect Answer")


def unified_item(
    dataset: str,
    item_id: str,
    question: str,
    correct_answer: str,
    wrong: Sequence[str],
    meta: Mapping[str, Any],
    *,
    chosen: int = 0,
    context: str | None = None,
) -> Item:
    """An item whose incorrect answer is the `chosen` of the wrong ones; it is empty where the source has none.

    An empty text is left out of training; it is not made up here.
    """
    return Item(
        item_id=item_id,
        benchmark=BENCHMARK,
        dataset=dataset,
        question=question,
        correct_answer=correct_answer,
        incorrect_answer=wrong[chosen] if wrong else "",
        context=context,
        meta={**meta, INCORRECT_ANSWERS: list(wrong)},
    )


def truthfulqa(folder: Path) -> Iterator[Item]:
    """The revision of January 2025: one best and one best incorrect answer to each of 790 questions.

    The 817 questions of 2021 lack `Best Incorrect Answer` and are refused.
    """
    path = folder / "TruthfulQA.csv"
    with opened(path) as file:
        for row in csv_records(file, str(path), TRUTHFULQA_COLUMNS):
            kind, category, question, right, wrong = map(row.text, TRUTHFULQA_COLUMNS)
            meta = {"type": kind, "category": category}
            yield unified_item("truthfulqa", f"truthfulqa-{row.index}", question, right, [wrong], meta)


def advisorqa(folder: Path) -> Iterator[Item]:
    """Posts with answers ranked by upvotes; the benchmark uses one file of 1,000 lines of the set.

    The answer at sft_index is correct, the wrong one is the least upvoted (the first of equals).
    """
    for record in json_records(file_of_1000(folder)):
        answers, rewards = record.texts("suffix"), record.get("reward")
        best = record.whole("sft_index", 0, len(answers) - 1)
        if not isinstance(rewards, list) or len(rewards) != len(answers) or not all(map(is_number, rewards)):
            raise record.error("reward", f"must be a list of {len(answers)} numbers, one for each suffix")
        wrong = [k for k, answer in enumerate(answers) if k != best and answer]
        posts = record.texts("prefix")
        if not posts:
            raise record.error("prefix", "is an empty list; it must hold the post")
        label = record.one_of("label", ("safe", "unsafe"))
        meta = {**record.kept("reward"), "sft_index": best, "label": label, "num_candidates": len(answers)}
        yield unified_item(
            "advisorqa",
            f"advisorqa-{record.index}",
            posts[0],
            answers[best],
            [answers[k] for k in wrong],
            meta,
            chosen=min(range(len(wrong)), key=lambda k: rewards[wrong[k]], default=0),
        )


def file_of_1000(folder: Path) -> Path:
    """The one JSON file here, or of several the one that has 1,000 records: neither paper nor data give its name."""
    places = sorted(folder.glob("[!.]*.json*"))
    # sources.json is what `evenhand build unified` keeps beside the files that it fetched.
    files = [p for p in places if p.is_file() and p.name != "sources.json" and p.suffix != ".partial"]
    fitting = files if len(files) == 1 else [path for path in files if n_records(path) == ADVISORQA_LINES]
    if len(fitting) != 1:
        here = ", ".join(path.name for path in files) or "none"
        raise DataError(
            f"{folder}: {len(fitting)} JSON files of {ADVISORQA_LINES} records (JSON files here: {here}); "
            "leave only the one that the benchmark was made from, whose lines 1-576 are safe and 577-1000 unsafe"
        )
    return fitting[0]


def n_records(path: Path) -> int:
    """How many records a file has, up to one more than wanted; 0 for a file that cannot be read as records."""
    try:
        return sum(1 for _ in islice(json_records(path), ADVISORQA_LINES + 1))
    except DataError:
        return 0


def amqa(folder: Path) -> Iterator[Item]:
    """Medical licensing questions. Six variants of each, for groups of patients, are named in meta and not asked."""
    for record in json_records(folder / "AMQA_Dataset.jsonl"):
        answer = record.text("answer")
        choices = record.options("options", "ABCD")  # as they stand: three wrong ones end in a blank, as published
        wrong = [text for text in choices.values() if text.strip() != answer]
        if len(wrong) == len(choices):
            raise record.error("answer", f"is not among the options: {shown(answer)}; fetch the file again")
        meta = {
            "answer_idx": record.one_of("answer_idx", "ABCD"),
            "desensitized_question": record.text("desensitized_question"),
            "variants": list(AMQA_GROUPS),
        }
        item_id = f"amqa-{record.identifier('question_id')}"
        yield unified_item("amqa", item_id, record.text("original_question"), answer, wrong, meta)


def bbq(folder: Path, names: Sequence[str]) -> Iterator[Item]:
    """Eleven files of templated questions about social groups, with an ambiguous or a disambiguating context.

    The paper says nine dimensions; the data has two intersectional files more.
    """
    for path in (folder / name for name in names):
        for record in json_records(path):
            wrong = [record.raw_text(name) for name in BBQ_ANSWERS]  # a few end in a blank, as in the published split
            right = wrong.pop(record.whole("label", 0, 2)).strip()
            question = f"{record.text('context')} {record.text('question')}"
            meta = {
                "source_file": path.name,
                "category": record.text("category"),
                "context_condition": record.one_of("context_condition", ("ambig", "disambig")),
                "question_polarity": record.one_of("question_polarity", ("neg", "nonneg")),
            }
            yield unified_item("bbq", f"bbq-{path.stem}-{record.index}", question, right, wrong, meta)


def gpqa(folder: Path) -> Iterator[Item]:
    """GPQA (main), from the Hub's CSV or the one in the authors' zip; inner lines keep the blanks at their ends."""
    path = first_present(folder, "gpqa_main.csv", "dataset.zip")
    columns = ("Question", "Correct Answer", *GPQA_WRONG, "Record ID", *GPQA_META.values())
    with opened(path) as file:
        is_zip = path.suffix == ".zip"
        lines = member_lines(path, "gpqa_main.csv", GPQA_PASSWORD) if is_zip else file
        for row in csv_records(lines, f"{path}!gpqa_main.csv" if is_zip else str(path), columns):
            item_id, wrong = f"gpqa-{row.identifier('Record ID')}", [row.text(column) for column in GPQA_WRONG]
            meta = {key: row.raw_text(column) for key, column in GPQA_META.items()}
            yield unified_item("gpqa", item_id, row.text("Question"), row.text("Correct Answer"), wrong, meta)


def halueval(folder: Path) -> Iterator[Item]:
    """HaluEval's question answering part: the right answer against a hallucinated one.

    The knowledge is kept as context, which no prompt of the benchmark shows. The file is JSON lines, despite its name.
    """
    for record in json_records(folder / "qa_data.json"):
        question, right, wrong = map(record.text, ("question", "right_answer", "hallucinated_answer"))
        item_id, knowledge = f"halueval-qa-{record.index}", record.raw_text("knowledge")
        yield unified_item("halueval", item_id, question, right, [wrong], {"split": "all"}, context=knowledge)


def harp(folder: Path) -> Iterator[Item]:
    """Multiple-choice problems of United States mathematics competitions, from the publisher's zip or the file in it.

    The releases of November 2024 and January 2025 hold the same problems with the choices in another order, so the
    chosen wrong answer differs; the published test split was made from the later one.
    """
    path = first_present(folder, "HARP_mcq.jsonl.zip", "HARP_mcq.jsonl")
    for record in records_in(path, "*_mcq.jsonl"):
        choices = record.options("choices", "ABCDE")
        answer = choices.pop(record.one_of("answer_choice", "ABCDE"))
        year, contest, number = record.identifier("year"), record.identifier("contest"), record.whole("number", 0, 1000)
        meta = {
            "year": year,
            "contest": contest,
            "number": number,
            "level": record.whole("level", 1, 9),
            "subject": record.text("subject"),
            **record.kept("multiple_choice_only", "num_solutions"),
            "solution": record.text("solution_1") if "solution_1" in record.values else None,
        }
        wrong = [choice.strip() for choice in choices.values()]
        item_id = f"harp_mc-{year}-{contest}-{number}"
        yield unified_item("harp", item_id, record.text("problem"), answer.strip(), wrong, meta)


def plausibleqa(folder: Path) -> Iterator[Item]:
    """Questions whose wrong candidates carry plausibility scores; the most plausible one is the claim."""
    for record in json_records(folder / "test.json"):
        answer, kind, source_id = record.text("answer"), record.inside("question_type"), record.identifier("id")
        meta = {
            "split": "test",
            "source_id": source_id,
            "question_type_major": kind.text("major"),
            "question_type_minor": kind.text("minor"),
            **record.kept("question_difficulty", "answer_difficulty"),
            "plausibility_key": PLAUSIBILITY,
        }
        wrong = most_plausible(record, answer)
        yield unified_item("plausibleqa", f"plausibleqa-{source_id}", record.text("question"), answer, wrong, meta)


def most_plausible(record: Record, answer: str) -> list[str]:
    """The candidates other than the answer by falling score; equal scores keep their order, a missing one counts 0."""
    scored = []
    for candidate, scores in record.mapping("candidate_answers").items():
        field = f"candidate_answers[{shown(candidate)}]"
        if not isinstance(scores, dict):
            raise record.error(field, f"must be an object of scores, found {shown(scores)}")
        score = scores.get(PLAUSIBILITY, 0)
        if not is_number(score):
            raise record.error(f"{field}.{PLAUSIBILITY}", f"must be a number, found {shown(score)}")
        if candidate.strip() != answer:
            scored.append((-score, candidate.strip()))
    return [candidate for _, candidate in sorted(scored, key=lambda pair: pair[0])[:N_PLAUSIBLE]]


def socialiqa(folder: Path) -> Iterator[Item]:
    """The test split of version 1.4, the only one that says which dimension a question asks about.

    Plain or still in the publisher's archive. `charmap` is an object or a text, by release.
    """
    name = "socialIWa_v1.4_tst_wDims.jsonl"
    path = first_present(folder, name, "socialIQa_v1.4_withDims.tgz")
    for record in records_in(path, name):
        wrong = [record.text(name) for name in SOCIALIQA_ANSWERS]
        right = wrong.pop(record.whole("label_ix", 0, 2))
        question = f"{record.text('context')} {record.text('question')}"
        meta = {
            "promptDim": record.one_of("promptDim", SOCIALIQA_DIMENSIONS),
            **record.kept("charmap", "answerSourcesOrigins", "answerSourcesWithCor", "promptQuestionFocusChar"),
        }
        yield unified_item("socialiqa", f"socialiqa-{record.index}", question, right, wrong, meta)


def is_number(value: object) -> bool:
    """Whether a value is a finite number; true and false are none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and -1e300 < value < 1e300
