"""The page is one harmless file."""

import json
import re
from dataclasses import replace

from eval.annotation.command import page_data, page_html
from eval.annotation.tasks import Item
from tests.made.hostile_texts import HOSTILE
from tests.made.made_annotation import item, task, whole


def test_hostile_texts_are_data_and_come_back_as_they_are():
    made = task([Item(unit=text, texts=(("Text", text),), judge="yes") for text in HOSTILE])
    page = page_html(whole(made))
    assert page.count("<script") == page.count("</script>") == 2
    assert not re.search("[\u2028\u2029\u202e]", page)
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert {text for one in json.loads(data)["items"] for _, text in one["texts"]} == set(HOSTILE)


def test_the_question_of_a_study_is_escaped_in_the_page():
    page = page_html(whole(replace(task([item(0, "yes")]), question="<b>&?")))
    assert "<h1>&lt;b&gt;&amp;?</h1>" in page


def test_the_judges_answers_are_not_on_the_page():
    made = whole(task([item(n, "yes" if n % 3 else "no") for n in range(9)]))
    assert {frozenset(one) for one in page_data(made)["items"]} == {frozenset({"id", "texts"})}


def test_the_page_loads_nothing():
    page = page_html(whole(task([item(0, "yes")])))
    assert not re.search(r"https?:|src=|@import|url\(|fetch\(|XMLHttp", page)
    assert "default-src 'none'" in page
