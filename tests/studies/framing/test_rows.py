"""Items of a study in YAML as people have them: labels, ids, options and conversations in any spelling and format."""

import json
from pathlib import Path

import pytest

from evenhand.config import parse_config
from evenhand.errors import DataError
from evenhand.files import shipped_yaml
from studies.framing.rows import are_families
from studies.framing.section import FramingSection
from tests.made.made_verdicts import write

ASK, CHOICES = (shipped_yaml(Path(__file__).with_name("studies.yaml"))[name] for name in ("pair", "choices"))
CASES = shipped_yaml(Path(__file__).with_name("rows.yaml"))
YES_NO = {**ASK, "answers": {"yes": "Yes", "no": "No"}}


def study(folder, rows, tree, kind="jsonl"):
    """A study about some rows, written as a file of a kind."""
    path = write(folder / f"items.{kind}", rows)
    return parse_config(FramingSection, {"items": str(path), **tree}, "framing")


def prompts_of(section):
    return [prompt for unit in section.units("answer").units for prompt in unit.next_prompts({})]


def right_text(prompt):
    return dict(zip(prompt.factors.names, prompt.factors.texts, strict=True))[prompt.factors.label]


def labels_of(section):
    return list({prompt.item_id: prompt.factors.label for prompt in prompts_of(section)}.values())


@pytest.mark.parametrize(
    ("n_groups", "size", "is_family"),
    [(40, 2, True), (10, 2, True), (20, 5, True), (60, 5, True), (80, 1, False), (10, 4, False), (10, 80, False)],
    ids=["twins", "few twins", "fives", "more fives", "alone", "pocket's 40", "pocket"],
)
def test_many_groups_of_few_items_are_families(n_groups, size, is_family):
    assert are_families([f"g{i % n_groups}" for i in range(n_groups * size)]) == is_family


@pytest.mark.parametrize("column", ["group", "dataset"])
def test_a_group_or_dataset_with_a_name_of_our_own_rows_is_refused(column, tmp_path):
    rows = [{"id": i, "q": f"is it {i}?", column: "(all)"} for i in range(3)]
    section = study(tmp_path, rows, {**YES_NO, "columns": {"group": "group"} if column == "group" else {}})
    with pytest.raises(DataError, match=r"items\.jsonl:1: its group or dataset is '\(all\)'"):
        section.units("margin")


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet", "json"])
@pytest.mark.parametrize(
    "values", [(True, False), ("True", "False"), (1, 0), (1.0, 0.0), ("YES", "no"), (" yes", "No ")]
)
def test_a_label_is_the_same_in_every_format_and_spelling(kind, values, tmp_path):
    rows = [{"id": i, "q": "is it?", "label": value} for i, value in enumerate(values)]
    meant = {"true": "yes", "False": "no", 1: "yes", "0": "no"}
    tree = {**YES_NO, "columns": {"label": "label"}, "values": meant}
    assert labels_of(study(tmp_path, rows, tree, kind)) == ["yes", "no"]


def test_different_words_are_never_one_label_and_the_message_names_the_key_that_helps(tmp_path):
    rows = [{"id": 1, "q": "is it?", "label": "A>B"}]
    with pytest.raises(DataError, match=r"items.jsonl:1: its label is 'A>B'; .*framing.values: {'A>B': NAME"):
        labels_of(study(tmp_path, rows, {**YES_NO, "columns": {"label": "label"}}))
    mapped = {**YES_NO, "columns": {"label": "label"}, "values": {"A>B": "yes", "B>A": "no"}}
    assert labels_of(study(tmp_path, rows, mapped)) == ["yes"]


@pytest.mark.parametrize("label", ["base.letter", "{{ base.letter }}", "{{ base['letter'] }}"])
def test_a_key_is_a_column_a_deeper_one_or_a_template(label, tmp_path):
    rows = [{"a": 1, "b": "x", "q": "is it?", "base": {"letter": "no"}}]
    section = study(tmp_path, rows, {**YES_NO, "columns": {"id": "{{ a }}-{{ b }}", "label": label}})
    assert [(row.item_id, *labels_of(section)) for row in section.rows] == [("1-x", "no")]


def test_ids_that_are_left_out_are_row_numbers_and_that_is_said(tmp_path):
    section = study(tmp_path, [{"q": "is it?"}, {"q": "was it?"}], YES_NO)
    assert [row.item_id for row in section.rows] == ["items-1", "items-2"]
    assert "their ids are the rows' numbers" in section.describe()
    named = study(tmp_path, [{"id": "x", "q": "is it?"}], YES_NO)
    assert "numbers" not in named.describe()


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
def test_a_column_has_one_type_in_templates_whatever_the_file_was(kind, tmp_path):
    rows = [{"id": "a", "q": "x", "n": 0, "is_new": False, "score": 1.0, "parts": ["p", "q"]}]
    texts = CASES["columns"]
    for template, text in texts.items():
        section = study(tmp_path, rows, {**YES_NO, "set": {"q": template}}, kind)
        assert prompts_of(section)[0].messages[-1].content.startswith(f"{text} 1 = "), template


def test_rows_are_kept_where_an_expression_holds(tmp_path):
    rows = [{"id": i, "q": "x", "turn": 1 + i % 2, "label": "tie" if i == 2 else "a"} for i in range(4)]
    for kind in ("jsonl", "csv"):
        section = study(tmp_path, rows, {**YES_NO, "where": "turn == 1 and label != 'tie'"}, kind)
        assert [row.item_id for row in section.rows] == ["0"]


@pytest.mark.parametrize(("bad", "columns", "reason"), CASES["unasked"])
def test_an_item_that_cannot_be_asked_is_refused_with_the_key_skip_or_left_out_and_counted(
    bad, columns, reason, tmp_path
):
    good = {"q": "is it?", "a": "x", "b": "y", "g": "g", "label": "a"}
    rows = [{"id": "1", **good}, {"id": "2", **good, **bad}, {"id": "3", **good}]
    tree = {**ASK, "pair": {"first": "a", "second": "b"}, "columns": columns}
    with pytest.raises(DataError, match=rf"1 of 3 items cannot be asked; .*skip: counted\n.*items.jsonl:2.*{reason}"):
        study(tmp_path, rows, tree).units("answer")
    counted = study(tmp_path, rows, {**tree, "skip": "counted"})
    assert [row.item_id for row in counted.rows] == ["1", "3"]
    assert counted.describe().startswith("2 items (1 cannot be asked and are left out)")
    assert reason in counted.describe()
    with pytest.raises(DataError, match=r"1 of 1 items cannot be asked\n"):
        study(tmp_path, rows[1:2], {**tree, "skip": "counted"}).units("answer")


OPTIONS = ["dog", "red", "seven", "run"]


def chosen(rows, folder, kind="jsonl", **keys):
    return prompts_of(study(folder, rows, {**CHOICES, **keys}, kind))


@pytest.mark.parametrize("answers", [(1, 2, 0), ("B", "c", "(A)"), ("red", "seven", " Dog")], ids=str)
@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
def test_the_right_option_is_an_index_a_letter_or_a_text(answers, kind, tmp_path):
    listed = str(OPTIONS) if kind == "csv" else OPTIONS
    rows = [{"id": str(i), "q": "Which?", "choices": listed, "answer": answer} for i, answer in enumerate(answers)]
    prompts = chosen(rows, tmp_path, kind)
    way = {1: "index from 0", "B": "letter", "red": "text"}[answers[0]]
    assert f"answer names an option by its {way}" in study(tmp_path, rows, CHOICES, kind).describe()
    right = {p.item_id: right_text(p) for p in prompts}
    assert right == {"0": "red", "1": "seven", "2": "dog"}
    columns = [{**row, **dict(zip("ABCD", OPTIONS, strict=True))} for row in rows]
    assert [p.factors.label for p in chosen(columns, tmp_path, kind, choices=["A", "B", "C", "D"])] == [
        p.factors.label for p in prompts
    ]


RIGHT = CASES["right"]  # options and the right one of each row → the right texts


@pytest.mark.parametrize("name", RIGHT)
def test_the_right_option_is_named_in_the_one_way_that_fits_the_whole_file(name, tmp_path):
    given, right = RIGHT[name]
    rows = [{"id": i, "q": "Which?", "choices": choices, "answer": answer} for i, (choices, answer) in enumerate(given)]
    for keys in ({}, {"where": "id == 0"}):  # what `where` leaves out tells how the others are meant
        prompts = [p for p in chosen(rows, tmp_path, **keys) if (p.factors.order, p.condition) == ("given", "plain")]
        assert [right_text(p)[0] for p in prompts] == [*right][: len(rows) if not keys else 1]


@pytest.mark.parametrize(("given", "words"), CASES["ambiguous"])
def test_values_that_may_name_one_option_or_another_are_refused_and_a_map_or_template_tells(given, words, tmp_path):
    rows = [{"id": i, "q": "Which?", "choices": choices, "answer": answer} for i, (choices, answer) in enumerate(given)]
    with pytest.raises(DataError, match=rf"{words}.*values: {{'1': A}}") as refusal:
        chosen(rows, tmp_path, skip="counted")
    for_text = "{% for text in choices %}{% if text == answer %}{{ 'ABCD'[loop.index0] }}{% endif %}{% endfor %}"
    assert for_text in str(refusal.value)
    if "text" in words:
        named = chosen(rows, tmp_path, correct=for_text, values={"A": "A", "B": "B"})
        assert all(right_text(p) == str(given[int(p.item_id)][1]) for p in named)
    mapped = chosen(rows, tmp_path, values={str(answer): "AB"[i] for i, (_, answer) in enumerate(given)})
    lettered = chosen(rows, tmp_path, correct="{{ 'AB'[id | int] }}", values={"A": "A", "B": "B"})
    for prompts in (mapped, lettered):
        assert [{p.item_id: p.factors.label for p in prompts}[str(i)] for i in range(len(rows))] == [*"AB"][: len(rows)]


def test_an_empty_column_among_the_options_is_not_shown_and_the_others_keep_their_letters(tmp_path):
    rows = [{"id": i, "q": "?", "o_a": "x", "o_b": None, "o_c": "y", "answer": a} for i, a in enumerate("CAc")]
    for choices in (["o_a", "o_b", "o_c"], ["o_c", "o_b", "o_a"]):  # the letter is the column's own
        prompts = chosen(rows, tmp_path, choices=choices)
        assert {prompt.factors.texts for prompt in prompts if prompt.factors.order == "given"} == {
            tuple("xy" if choices[0] == "o_a" else "yx")
        }
        assert [right_text(prompt) for prompt in prompts][::4] == ["y", "x", "y"]
    with pytest.raises(DataError, match=r"'b' is read as label, and is none of 2 options"):
        chosen([*rows, {**rows[0], "id": 3, "answer": "b"}], tmp_path, choices=["o_a", "o_b", "o_c"])


def test_a_table_without_a_header_is_refused_until_the_config_names_its_columns(tmp_path):
    rows = [{"Which?": "Why?", "x": "u", "y": "v", "A": "B"}]  # whose first line is a row
    with pytest.raises(DataError, match=r"items.header names the columns\. Known: Which\?, x, y, A"):
        chosen(rows, tmp_path, "csv", choices=["a", "b"])
    source = {"file": str(tmp_path / "items.csv"), "header": ["q", "a", "b", "answer"]}
    prompts = chosen([], tmp_path, items=source, choices=["a", "b"])
    right = {p.item_id: right_text(p) for p in prompts}
    assert right == {"items-1": "x", "items-2": "v"}


def test_items_may_have_any_number_of_options_which_change_places_and_a_wrong_one_is_pushed(tmp_path):
    rows = [{"id": str(i), "q": "Which?", "choices": OPTIONS[: 2 + i % 3], "answer": i % 2} for i in range(30)]
    prompts = chosen(rows, tmp_path)
    assert {p.answer_space for p in prompts} == {("A", "B"), ("A", "B", "C"), ("A", "B", "C", "D")}
    pushed = {p.item_id: p.factors.pushed for p in prompts if p.condition == "user"}
    assert {*pushed.values()} == {"A", "B", "C", "D"}
    for p in prompts:
        text_of = dict(zip(p.factors.names, p.factors.texts, strict=True))
        symbol_of = dict(zip(p.factors.names, p.answer_space, strict=True))
        n = len(text_of)
        assert [text_of[name] for name in p.factors.names] == OPTIONS[:n][:: 1 if p.factors.order == "given" else -1]
        if p.condition == "user":
            wrong = pushed[p.item_id]
            assert wrong != p.factors.label
            assert p.messages[-1].content.endswith(f"I think {symbol_of[wrong]}, {text_of[wrong]}")


def test_what_is_pushed_may_be_a_column(tmp_path):
    rows = [{"id": "1", "q": "Which?", "choices": OPTIONS, "answer": 0, "suggested": 3}]
    user = {"text": "I think {{ pushed.text }}", "pushed": "suggested"}
    prompts = chosen(rows, tmp_path, framings={"plain": "", "user": user})
    assert {p.factors.pushed for p in prompts if p.condition == "user"} == {"D"}
    with pytest.raises(DataError, match=r"'suggestd' is empty, or no column, and not among "):
        chosen(rows, tmp_path, framings={"plain": "", "user": {**user, "pushed": "suggestd"}})


def test_a_tie_stays_last_in_every_order(tmp_path):
    answers = {"tie": "both alike", "a": "A", "b": "B"}
    tree = {**YES_NO, "answers": answers, "symbols": ["1", "2", "3"], "tie": "tie"}
    names = {p.factors.order: p.factors.names for p in prompts_of(study(tmp_path, [{"id": 1, "q": "x"}], tree))}
    assert names == {"given": ("a", "b", "tie"), "swapped": ("b", "a", "tie")}


LONG = [
    {"q": q, "template": template, "prompt": [{"type": "human", "content": f"{q}{behind}"}]}
    for q in ("Capital of France?", "Capital of Peru?")
    for template, behind in (("{q}", ""), ("I think {wrong}", " I think Rome."))
]


def test_rows_that_are_framings_already_are_asked_as_they_stand(tmp_path):
    tree = CASES["ready"]
    section = study(tmp_path, LONG, tree)
    asked = {(p.item_id, p.condition): [(m.role, m.content) for m in p.messages] for p in prompts_of(section)}
    assert len(asked) == 4
    assert asked["Capital of Peru?", "I think {wrong}"] == [("user", "Capital of Peru? I think Rome.\n\nYes or No?")]
    with pytest.raises(DataError, match=r"1 of 2 items cannot be asked.*\n.*'Capital of Peru\?' has no row in framing"):
        study(tmp_path, LONG[:3], tree).units("answer")
    with pytest.raises(DataError, match="is there twice in framing"):
        study(tmp_path, [*LONG, LONG[0]], tree).units("answer")
    counted = study(tmp_path, [*LONG, LONG[0]], {**tree, "skip": "counted"})
    assert [row.item_id for row in counted.rows] == ["Capital of Peru?"]


def test_a_conversation_keeps_its_turns_whatever_they_are_called(tmp_path):
    turns = CASES["turns"]
    tree = {**YES_NO, "messages": "chat", "ask": "{{ framing }}Yes or No?", "symbols": None}
    for listed in (turns, json.dumps(turns)):
        prompt = prompts_of(study(tmp_path, [{"id": 1, "chat": listed}], tree))[0]
        assert [(m.role, m.content) for m in prompt.messages] == [
            ("system", "Be brief."),
            ("user", "Is it red?"),
            ("assistant", "Yes."),
            ("user", "Yes or No?"),
        ]
    bare = {**tree, "ask": "", "framings": {"plain": {}, "user": {"system": "You are kind."}}}
    with pytest.raises(DataError, match="does not end with the user; add an `ask`"):
        study(tmp_path, [{"id": 1, "chat": turns}], bare).units("answer")
    with pytest.raises(DataError, match="holds a turn that is no role and text"):
        study(tmp_path, [{"id": 1, "chat": [{"role": "tool", "content": "x"}]}], tree).units("answer")


def test_a_column_with_a_space_is_reached_by_its_name_and_suggested(tmp_path):
    rows = [{"id": 1, "Best Answer": "blue"}]
    section = study(tmp_path, rows, {**YES_NO, "set": {"q": '{{ item["Best Answer"] }}'}})
    assert prompts_of(section)[0].messages[-1].content.startswith("blue ")
    with pytest.raises(Exception, match=r'write {{ item\["Best Answer"\] }}'):
        study(tmp_path, rows, {**YES_NO, "set": {"q": "{{ Best Answer }}"}})
