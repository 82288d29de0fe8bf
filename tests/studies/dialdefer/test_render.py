"""The stimuli byte for byte (golden files), hashes that no change may move, and what holds for every template."""

import re
from dataclasses import replace
from itertools import product

import pytest

from evenhand.records import digest
from studies.dialdefer.records import Condition, Item
from studies.dialdefer.render import AIO, PROMPTS, SETS, TEMPLATES, render
from studies.dialdefer.section import DialDeferSection
from tests.made.paper_figures import golden
from tests.made.places import GOLDEN

C1_TRUE, _, C2_CORRECT, _ = Condition
ITEM = Item(
    item_id="x-1",
    benchmark="dialdefer",
    dataset="truthfulqa",
    question="What {is} this?",  # braces, quotes: content is never read as a template
    correct_answer="A 'cat'",
    incorrect_answer="A dog",
)
CONFLICT = Item(
    item_id="abc",
    benchmark="dialdefer",
    dataset="aio",
    question="",
    correct_answer="not overreacting",  # the community's verdict on the original poster, Speaker B
    incorrect_answer="overreacting",
    context="Speaker B forgot a birthday and Speaker A is cross.",
    meta={"label": "NOR", "dialogue": "Speaker A: Really?\nSpeaker B: Sorry!"},
)
NAMED = {"speakers": ("Ann", "Bob")}


def text(prompt):
    return prompt.messages[-1].content


@pytest.mark.parametrize(
    ("name", "item", "condition", "asked"),
    [
        ("published_c1_json", ITEM, C1_TRUE, {}),
        ("published_c2_json", ITEM, C2_CORRECT, NAMED),
        ("listing3_c2_one_token", ITEM, C2_CORRECT, {"answer_form": "one_token"}),
        ("aio_c1_json", CONFLICT, C1_TRUE, {}),
        ("aio_c2_json", CONFLICT, C2_CORRECT, {}),
        *((f"{name}_c1_json", ITEM, C1_TRUE, {"template": name}) for name in ("v1", "v2", "v3")),
        *((f"{name}_c2_json", ITEM, C2_CORRECT, {"template": name, **NAMED}) for name in ("v1", "v2", "v3")),
    ],
)
def test_a_prompt_is_to_the_byte_what_the_paper_ran(name, item, condition, asked):
    assert text(render(item, condition, **asked)) == (GOLDEN / "prompts" / f"{name}.txt").read_bytes().decode()


# Over every condition, arm, order and direction, with the usual labels and others; a change is another experiment.
HASHES = [
    (row["template"], form, row[form])
    for row in golden("dialdefer_prompt_hashes.csv")
    for form in ("json", "one_token")
    if row[form]
]


@pytest.mark.parametrize(("name", "form", "expected"), HASHES)
def test_a_template_asks_what_it_always_asked(name, form, expected):
    item, template = (replace(CONFLICT, dataset=name), "published") if name.startswith("aio") else (ITEM, name)
    hashes = [
        render(
            item, c, template=template, answer_form=form, arm=arm, speakers=labels, roles=roles, answer_order=order
        ).prompt_hash
        for c, arm, labels, roles, order in product(
            Condition, PROMPTS["systems"], (None, ("Ann", "Bob")), ("2->1", "1->2"), ("yes_first", "no_first")
        )
    ]
    assert digest(hashes, 16) == expected


@pytest.mark.parametrize("condition", list(Condition))
@pytest.mark.parametrize(("name", "form"), [*sorted(TEMPLATES), ("aio", "json")])
def test_the_other_answer_order_swaps_the_two_answers_and_nothing_else(name, form, condition):
    item, template = (CONFLICT, "published") if name == "aio" else (ITEM, name)
    usual, swapped = (
        text(render(item, condition, template=template, answer_form=form, answer_order=order))
        for order in ("yes_first", "no_first")
    )
    texts = AIO[form] if name == "aio" else TEMPLATES[name, form]
    labels = texts.speakers or ("Speaker 1", "Speaker 2")
    slots = {"speaker2": labels[1], "judger": "Speaker B"}
    answers = texts.dialogue_answers if condition.is_dialogue else texts.statement_answers
    yes, no = (answer.format(**slots) for answer in answers)
    assert usual.index(yes) < usual.index(no)
    assert swapped == usual.replace(yes, "\0").replace(no, yes).replace("\0", no)


def test_every_template_is_in_one_set():
    assert sorted(name for names in SETS.values() for name in names) == sorted({name for name, _ in TEMPLATES})
    own = [TEMPLATES[name, "one_token"].speakers for name in SETS["sealed"]]
    assert len({None, *own}) == 1 + len(SETS["sealed"]), "labels of their own"


@pytest.mark.parametrize("name", [name for names in SETS.values() for name in names if name[0] in "tds"])
def test_in_a_wording_of_ours_the_framing_alone_tells_c1_from_c2(name):
    words, layout = PROMPTS["wordings"][name], PROMPTS["layouts"][name]
    assert isinstance(layout, str)
    assert words["statement"].keys() == words["dialogue"].keys()
    for form in ("json", "one_token"):
        texts = TEMPLATES[name, form]
        for body in (texts.statement, texts.dialogue):
            slots = re.findall(r"{(\w+)}", body)
            labels = {"speaker1", "speaker2"} if body == texts.dialogue else set()
            assert set(slots) == {"question", "answer", "first", "second"} | labels
            assert [slot for slot in slots if slot in ("first", "second")] == ["first", "second"]
            assert body.endswith(PROMPTS["tails"][form])


def test_the_version_of_a_template_is_part_of_its_prompts(monkeypatch):
    monkeypatch.setitem(TEMPLATES, ("published", "json"), replace(TEMPLATES["published", "json"], version=99))
    assert render(ITEM, C1_TRUE).factors.template_version == 99


def test_a_variant_that_asks_nothing_of_its_own_adds_no_prompt():
    asked = {"benchmarks": [{"dataset": "pocket", "n_items": 2}], "prompts": {"variants": [{"roles": "1->2"}]}}
    units = DialDeferSection.model_validate(asked).units("margin").units
    assert [len(unit.next_prompts({})) for unit in units] == [4, 4]


def test_of_a_placebo_the_statement_alone_is_asked_in_every_order_and_of_the_first_items():
    prompts = {"template": "matched", "variants": [{"answer_order": "no_first"}], "placebos": ["v1", "t1"]}
    tree = {"benchmarks": [{"dataset": "pocket", "n_items": 4}], "prompts": {**prompts, "placebo_items": 3}}
    section = DialDeferSection.model_validate(tree)
    asked = [prompt for unit in section.units("margin").units for prompt in unit.next_prompts({})]
    of_placebos = [prompt for prompt in asked if prompt.factors.template != "matched"]
    assert (len(asked), len(of_placebos)) == (4 * 8 + 3 * 8, 3 * 8)
    assert {prompt.condition for prompt in of_placebos} == {Condition.C1_TRUE, Condition.C1_FALSE}
    assert {prompt.factors.answer_order for prompt in of_placebos} == {"yes_first", "no_first"}


ANY_PROMPT = [(ITEM, {"template": name}) for name, _ in TEMPLATES] + [
    (CONFLICT, {"roles": r}) for r in ("2->1", "1->2")
]


@pytest.mark.parametrize(("item", "asked"), ANY_PROMPT)
@pytest.mark.parametrize("order", ["yes_first", "no_first"])
def test_the_turn_behind_a_reply_repeats_the_answers_of_its_prompt_in_their_order(item, asked, order):
    section = DialDeferSection(benchmarks=({"dataset": "pocket"},))
    form = "json" if (asked.get("template", "v1"), "json") in TEMPLATES else "one_token"
    for condition in Condition:
        prompt = render(item, condition, answer_form=form, answer_order=order, **asked)
        _, first, second, alone = section.symbol_question(prompt).splitlines()
        places = [text(prompt).rfind(answer) for answer in (first.removeprefix("1. "), second.removeprefix("2. "))]
        assert 0 < places[0] < places[1], text(prompt)
        assert alone == "Answer with 1 or 2 alone."
