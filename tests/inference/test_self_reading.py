"""Behind each written reply the judge is asked for its symbol: what is asked, by which engine, and how it resumes."""

import math
from dataclasses import replace

import pytest

from eval.runs import load_finished
from evenhand.config import parse_config
from evenhand.errors import ModelError
from inference.encoding import Encoder
from inference.engine import open_engine
from inference.patch import overlaid_units, turns_about
from studies.framing.section import FramingSection
from tests.made.completions import completion
from tests.made.fake_server import FakeServer, answer
from tests.made.framing_runs import claims, run_of, study
from tests.made.tiny_checkpoint import byte_tokenizer
from tests.made.tiny_families import THINKING
from tests.made.toy_prompts import toy_config, toy_prompt
from tests.made.toy_runs import ask

SELF = {"verdict": "reason", "self_read": True}


def turns_behind(prompt, *texts):
    """The turns that ask for the symbol of some replies to a prompt."""
    replies = [replace(completion(text), sample_index=k) for k, text in enumerate(texts)]
    return [*turns_about(prompt, replies, "Which? 1 or 2 alone.")]


def test_a_turn_holds_what_the_judge_wrote_and_says_which_reply_it_is_about():
    prompt = toy_prompt("Is it so?")
    first, second = turns_behind(prompt, "Yes, <think>hm</think> it is.", " ", "No.\n")
    assert [(m.role, m.content) for m in first.messages[1:]] == [
        ("assistant", "Yes, <think>hm</think> it is."),
        ("user", "Which? 1 or 2 alone."),
    ]
    assert [first.reads, second.reads] == [(prompt.prompt_hash, 0), (prompt.prompt_hash, 2)]
    assert (second.messages[1].content, second.answer_space) == ("No.", ("1", "2"))
    asked_by_the_study = replace(first, reads=None)
    assert asked_by_the_study.prompt_hash != first.prompt_hash  # that one is answered in words


def test_a_study_that_goes_on_behind_its_replies_goes_on_beside_the_turns(tmp_path, monkeypatch):
    """And a run that was killed asks what lacks, nothing twice."""
    framings = {"statement": "Claim: {{ claim }}", "x": {"follow_up_to": "statement", "ask": "Are you sure?"}}
    section = study(claims(tmp_path / "items.jsonl", 3), framings=framings)
    asked = []

    def judge(prompt):
        asked.append(prompt)
        if len(asked) == 20:
            raise KeyboardInterrupt
        return "1"

    with pytest.raises(KeyboardInterrupt):
        run_of(tmp_path, section, judge, monkeypatch, self_read=True)
    del asked[-1]
    path = run_of(tmp_path, section, lambda prompt: asked.append(prompt) or "1", monkeypatch, self_read=True)
    hashes = [prompt.prompt_hash for prompt in asked]
    assert len({*hashes}) == len(hashes) == 3 * 2 * 2 * (4 + 4)  # items, cases, orders; framings and placebos, turns
    run = load_finished(path)
    assert len(run.plan) == len(run.self_read) == 48
    assert {prompt.condition for prompt in run.plan} == {"statement", "x", "placebo 1", "placebo 2"}
    behind = [p for p in asked if p.reads and p.condition == "x"]
    assert {tuple(m.role for m in p.messages) for p in behind} == {("user", "assistant") * 2 + ("user",)}


def test_transformers_reads_the_models_own_probabilities_behind_the_reply(checkpoint):
    """As `verdict: options` at temperature 1 reads them of the same chat."""
    engine = {"kind": "transformers", "batch_size": 2}
    written = toy_config(str(checkpoint), engine=engine, sampling={"max_tokens": 5, "temperature": 0.7}, **SELF)
    exact = toy_config(str(checkpoint), "margin", engine=engine)
    prompts = [toy_prompt("Is it so?"), toy_prompt("A longer question.")]
    turns = [turn for prompt in prompts for turn in turns_behind(prompt, "It is.")]
    with open_engine(written) as opened:
        said = {c.prompt_hash: c for c in opened.generate([*prompts, *turns])}
    with open_engine(exact) as opened:
        margins = {c.prompt_hash: c for c in opened.generate(turns)}
    assert all(said[prompt.prompt_hash].answer_logprobs is None for prompt in prompts)
    for turn in turns:
        ours, theirs = (replies[turn.prompt_hash].answer_logprobs for replies in (said, margins))
        assert ours is not None
        assert theirs is not None
        assert ours == pytest.approx(theirs, abs=1e-5)
        assert sum(map(math.exp, ours.values())) < 1


def test_a_server_is_held_to_a_schema_of_the_symbols_whatever_else_it_is_asked():
    bodies = []

    def script(body, n):
        bodies.append(body)
        return answer('{"answer": "2"}')

    (turn,) = turns_behind(toy_prompt("Is it so?"), "No.")
    with FakeServer(script) as server:
        (reply,) = ask(server, [turn], self_read=True)
    schema = bodies[0]["response_format"]["json_schema"]["schema"]
    assert schema["properties"] == {"answer": {"type": "string", "enum": ["1", "2"]}}
    assert (bodies[0]["temperature"], reply.answer_logprobs) == (0, None)


def test_nothing_is_thought_before_the_symbol_and_everything_before_the_reply():
    """And a model that always thinks is refused before anything is asked."""
    config = toy_config("judge", patch={"thinking": True}, **SELF)
    assert [config.template_args(reads)["enable_thinking"] for reads in (None, ("hash", 0))] == [True, False]
    tokenizer = byte_tokenizer()
    tokenizer.chat_template = THINKING
    prompt = toy_prompt("Is it so?")
    (turn,) = turns_behind(prompt, "No.")
    rendered = [encoded.rendered for encoded in Encoder(tokenizer, toy_config("m", **SELF)).encode([prompt, turn])]
    assert [text.endswith("<think>\n") for text in rendered] == [True, False]
    tokenizer.chat_template = "{{ messages[-1].content }}<think>\n"
    with pytest.raises(ModelError, match="without `self_read`"):
        Encoder(tokenizer, toy_config("m", **SELF))


def test_the_turn_repeats_the_options_in_the_prompts_order(tmp_path):
    items = claims(tmp_path / "items.jsonl", 1)

    def words_of(**keys):
        section = parse_config(FramingSection, study(items, **keys), "framing")
        unit = overlaid_units(section, "answer", None, self_read=True).units[0]
        replies = {p.prompt_hash: [completion("Hm.", prompt_hash=p.prompt_hash)] for p in unit.next_prompts({})}
        return {turn.messages[-1].content for turn in unit.next_prompts(replies)}

    texts = {"accept": "Yes, it is correct.", "reject": "No, it is not."}
    ours = "So which answer is it?\n1. {}\n2. {}\nAnswer with 1 or 2 alone."
    assert words_of(answers=texts) == {ours.format(*texts.values()), ours.format(*reversed(texts.values()))}
    own = "{% for choice in choices %}{{ choice.symbol }}={{ choice.text }};{% endfor %}"
    assert words_of(answers=texts, self_ask=own, orders="given") == {"1=Yes, it is correct.;2=No, it is not.;"}
    bare = {"So which answer is it? Answer with 1 or 2 alone."}
    assert words_of(answers={"accept": "long " * 50, "reject": "No."}) == bare  # two responses are not repeated
    scores = {"answers": {}, "scale": [1, 10], "symbols": None, "cases": {"a": {"claim": "{{ yes }}"}}}
    assert words_of(**scores) == {"So which answer is it? Answer with a whole number from 1 to 10 alone."}
