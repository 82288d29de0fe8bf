"""The shipped batteries: all are asked as their config says, and DialDefer's texts give DialDefer's prompts."""

import pytest

from evenhand.config import parse_config, read_yaml
from studies.dialdefer.datasets import DatasetSpec, load_items
from studies.dialdefer.records import Condition
from studies.dialdefer.release import FILES
from studies.dialdefer.render import NO_FIRST, TEMPLATES, YES_FIRST, render
from studies.framing.section import FramingSection
from tests.made.framing_runs import dialdefer_section
from tests.made.places import CONFIGS, SHARED

CONDITIONS = {  # framing, case → the condition
    ("statement", "true"): Condition.C1_TRUE,
    ("statement", "false"): Condition.C1_FALSE,
    ("dialogue", "true"): Condition.C2_CORRECT,
    ("dialogue", "false"): Condition.C2_INCORRECT,
}
ORDERS = {"given": YES_FIRST, "swapped": NO_FIRST}
PUBLISHED = SHARED / "data" / "published"
needs_published = pytest.mark.skipif(not PUBLISHED.exists(), reason="no published items beside this checkout")
SOURCES = [
    pytest.param([{"dataset": "pocket", "n_items": 10}], id="pocket"),
    pytest.param(
        [{"dataset": name, "root": str(PUBLISHED), "n_items": 5} for name in FILES],
        id="published",
        marks=needs_published,
    ),
]


def asked(section, form):
    """Every prompt of a section."""
    units = parse_config(FramingSection, section, "section").units("reason" if form == "json" else "margin").units
    return [prompt for unit in units for prompt in unit.next_prompts({})]


def check_same_prompts(items, section, template, form):
    """Fails where a prompt is another one than DialDefer's of the same item, condition and order."""
    by_id = {item.item_id: item for item in items}
    prompts = asked(section, form)
    assert len({(p.item_id, p.condition, p.factors.case, p.factors.order) for p in prompts}) == 8 * len(items)
    for prompt in prompts:
        theirs = render(
            by_id[prompt.item_id],
            CONDITIONS[prompt.condition, prompt.factors.case],
            template=template,
            answer_form=form,
            answer_order=ORDERS[prompt.factors.order],
        )
        assert (prompt.prompt_hash, prompt.drawing) == (theirs.prompt_hash, theirs.drawing), prompt.messages


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(("template", "form"), TEMPLATES)
def test_every_template_of_dialdefer_is_asked_byte_for_byte(template, form, source):
    items = load_items([parse_config(DatasetSpec, spec, "spec") for spec in source])
    check_same_prompts(items, dialdefer_section(template, form, source), template, form)


@pytest.mark.parametrize(("close", "template"), [(None, "published"), ("END_ANSWER_2", "paper")])
def test_the_shipped_config_is_the_published_template_and_by_one_key_the_papers(close, template):
    section = read_yaml(CONFIGS / "framing" / "dialdefer.yaml")["framing"]
    section["set"] |= {"close": close} if close else {}
    check_same_prompts(load_items([parse_config(DatasetSpec, section["items"], "items")]), section, template, "json")


@pytest.mark.parametrize(("name", "n_framings"), [("speakers", 19), ("pairwise", 16), ("scores", 16)])
def test_a_battery_asks_every_framing_of_every_item_in_words_of_its_own(name, n_framings, monkeypatch):
    monkeypatch.chdir(CONFIGS.parent)
    tree = read_yaml(CONFIGS / "framing" / f"{name}.yaml")
    section = parse_config(FramingSection, tree["framing"], name)
    assert (len(section.texts), len(section.placebos)) == (n_framings, 8)
    n_asked = len(section.cases or [""]) * len(section.order_names) * n_framings
    for unit in list(section.units(tree["verdict"]).units)[:4]:
        first = list(unit.next_prompts({}))
        later = list(unit.next_prompts(section.supposed_replies(first)))
        assert len({prompt.prompt_hash for prompt in [*first, *later]}) == n_asked == len(first) + len(later)
