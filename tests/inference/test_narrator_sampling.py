"""A sampling run of the narrator study: what is planned, in which shards, and what is left out whole."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evenhand.completions import read_excluded
from evenhand.errors import DataError, ModelError
from evenhand.records import Completion, Message, Prompt
from evenhand.run_directory import is_done, planned_line, read_json, read_plan_lines, rewrite_plan, write_plan
from inference import sampling
from inference.config import InferenceConfig
from inference.engine import Further, PromptsTooLong, nothing_further
from inference.sampling import sample
from inference.schedule import first_prompts
from inference.server_messages import ServerFacts, request_body
from studies.dialdefer.records import Condition, Factors
from tests.made.made_conflicts import conflict, narrator_config, use_conflicts
from tests.made.read_back import completions_of
from tests.made.scripted_engine import OpenEngine

SHORT, LONG, OTHER = conflict("short"), conflict("long", 3, 6, "On and on it goes. " * 20), conflict("other", 5, 6)


class Window(OpenEngine):
    """An engine with a context window, counted in characters, that remembers what it was asked.

    A server answers what fits before it says what did not; the others say so before they answer anything.
    """

    def __init__(self, n_characters: int, *, is_server: bool = False) -> None:
        self.n_characters, self.is_server, self.asked = n_characters, is_server, list[Prompt]()

    def generate(self, prompts: Sequence[Prompt], further: Further = nothing_further) -> Iterator[Completion]:
        too_long = {p: f"{size(p)} characters" for p in prompts if size(p) > self.n_characters}
        if too_long and not self.is_server:
            raise PromptsTooLong(too_long)
        for prompt in prompts:
            if prompt not in too_long:
                self.asked.append(prompt)
                text = prompt.answer_space[0]
                yield Completion(prompt_hash=prompt.prompt_hash, sample_index=0, text=text, finish_reason="stop")
        if too_long:
            raise PromptsTooLong(too_long)


def size(prompt: Prompt) -> int:
    return len(prompt.messages[0].content)


@pytest.fixture
def conflicts(monkeypatch: pytest.MonkeyPatch) -> None:
    use_conflicts(monkeypatch, [SHORT, LONG, OTHER])
    monkeypatch.setattr(sampling, "model_facts", lambda config: {"name": "scripted"})


def run(engine: Window, config: InferenceConfig, monkeypatch: pytest.MonkeyPatch, **keys: Any) -> Path:
    monkeypatch.setattr(sampling, "open_engine", lambda config, prompts: engine)
    return sample(config, **keys)


@pytest.mark.usefixtures("conflicts")
def test_every_conversation_is_planned_under_all_conditions_with_its_answer_space(tmp_path: Path) -> None:
    config = narrator_config(tmp_path)
    prompts, hash_ = first_prompts(config), config.study.units("answer").content_hash
    sizes = {"short": 2, "long": 3, "other": 5}
    assert len(prompts) == sum(3 * 2 * (1 + n) * 2 for n in sizes.values())
    assert [p.item_id for p in prompts] == sorted((p.item_id for p in prompts), key=list(sizes).index)
    for line, prompt in zip(map(planned_line, prompts), prompts, strict=True):
        assert line["answer_space"] == list(prompt.answer_space)
        assert line["factors"]["target"] in prompt.answer_space
    config = narrator_config(tmp_path, narrator={"tasks": ["blame"], "visibilities": ["hidden"]})
    few, other_hash = first_prompts(config), config.study.units("answer").content_hash
    assert {(p.factors.task, p.factors.visibility) for p in few} == {("blame", "hidden")}
    assert hash_ == other_hash  # of the conversations, whatever is asked about them


TOY = Prompt(
    item_id="toy-1",
    benchmark="toy",
    dataset="toy",
    condition=Condition.C1_TRUE,
    factors=Factors(),
    messages=(Message(role="user", content="?"),),
)


def test_a_plan_of_other_prompts_is_refused_and_one_that_grew_is_not(tmp_path: Path) -> None:
    further = replace(TOY, condition=Condition.C1_FALSE)
    write_plan(tmp_path, [TOY, further])
    write_plan(tmp_path, [TOY])
    rewrite_plan(tmp_path, [TOY, further, replace(TOY, condition=Condition.C2_CORRECT)])
    write_plan(tmp_path, [TOY, further])
    assert len(list(read_plan_lines(tmp_path))) == 3
    with pytest.raises(DataError, match="planned with other prompts"):
        write_plan(tmp_path, [replace(TOY, factors=Factors(answer_order="no_first"))])


@pytest.mark.usefixtures("conflicts")
def test_a_server_is_asked_for_free_text() -> None:
    sampling = {"temperature": 0.7, "n": 3, "max_tokens": 32}
    config = narrator_config(engine={"kind": "openai", "base_url": "http://x/v1"}, sampling=sampling)
    prompt = first_prompts(config)[0]
    assert request_body(config, ServerFacts(False, None), prompt) == {
        "model": "scripted",
        "top_p": 1.0,
        "messages": [{"role": "user", "content": prompt.messages[0].content}],
        **sampling,
    }


@pytest.mark.usefixtures("conflicts")
@pytest.mark.parametrize("is_server", [False, True], ids=["tokenises here", "server"])
def test_a_conversation_that_does_not_fit_is_left_out_whole_and_the_run_is_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], is_server: bool
) -> None:
    config = narrator_config(tmp_path)
    prompts = first_prompts(config)
    limit = max(size(p) for p in prompts if p.item_id == "long") - 1  # most of its prompts would fit
    engine = Window(limit, is_server=is_server)
    path = run(engine, config, monkeypatch)
    assert is_done(path)
    assert list(read_excluded(path)) == ["long"]
    assert read_excluded(path)["long"].endswith("characters")
    done = read_json(path / "DONE.json")
    n_distinct = len({p.prompt_hash for p in prompts})
    assert (done["n_planned"], done["n_distinct"], done["n_excluded_items"]) == (len(prompts), n_distinct, 1)
    assert "1 of 3 items are left out" in (told := capsys.readouterr().err)
    assert ": long (all of them in excluded/)" in told
    answered = {hash_ for hash_, _ in completions_of(path)}
    assert answered >= {p.prompt_hash for p in prompts if p.item_id != "long"}
    if not is_server:
        assert answered == {p.prompt_hash for p in prompts if p.item_id != "long"}
    assert len(engine.asked) == len(set(engine.asked))
    assert {line["item_id"] for line in read_plan_lines(path)} == {"short", "long", "other"}
    # Asked again, the run knows what it leaves out, and is complete already.
    assert run(again := Window(limit), config, monkeypatch) == path
    assert again.asked == []


@pytest.mark.usefixtures("conflicts")
def test_a_run_of_which_nothing_fits_is_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelError, match=r"no item fits the context window.*engine\.max_model_len"):
        run(Window(10), narrator_config(tmp_path), monkeypatch)


@pytest.mark.usefixtures("conflicts")
def test_a_shard_has_whole_conversations_and_all_shards_together_finish_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = narrator_config(tmp_path)
    engines = [Window(1000) for _ in range(3)]
    for i, engine in enumerate(engines):
        path = run(engine, config, monkeypatch, shard=(i, 3))
    items = [{prompt.item_id for prompt in engine.asked} for engine in engines]
    assert sum(map(len, items)) == len(set().union(*items)) == 2
    assert list(read_excluded(path)) == ["long"]
    assert is_done(path)
