"""Messages → the text and the tokens that a model reads, and answers in tokens.

Chat templates add things (Qwen2.5 and SmolLM2 a default system message, Llama-3.1 today's date) and refuse things
(Gemma-2 a system role). Whatever comes out is kept with the run.

Special tokens inside a prompt's content, such as <|im_end|> on a talk page, are encoded as text: else an item could end
the user's turn and speak for the judge. The template's own special tokens stay what they are.

Behind a template's assistant header a reply begins as the template itself writes one: mostly with no space ("Ann", or
with the word-start mark that Mistral's tokenizer writes), behind some headers with one ("Assistant:" with " Ann").
Bare text goes on in its last line: "Answer:" with " Ann".
"""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from evenhand.errors import ModelError, one_line
from evenhand.records import Message

Tokens = tuple[int, ...]

# Llama-3.1's template prints the date it is given, else the date of the day: the same config would ask another
# question tomorrow. This is the date its template falls back to.
FIXED_DATE = "26 Jul 2024"
THINKING_NAMES = ("enable_thinking", "thinking")  # what templates call the switch: Qwen3 and GLM, DeepSeek and Granite
FIRST_MARK = 0x100000  # of a private plane of Unicode
# What ends a turn in the families served, where the tokenizer is a server's and not at hand.
LOOKS_SPECIAL = re.compile(
    r"<\|[a-z_]+\|>|<(?:start|end)_of_turn>|\[/?INST\]|</?s>|<(?:bos|eos|pad|unk)>|\b(?:USER|ASSISTANT):|### Response:"
)

# The end of a prompt whose template opens a thought: Qwen3-Thinking, DeepSeek-R1, Seed-OSS, Command A.
OPEN_THOUGHT = re.compile(r"[<\[]\|?(?:seed:|start_)?(?:think|thinking|thought|reasoning)\|?[>\]]\s*\Z", re.IGNORECASE)


THINKS = (
    "by its chat template a thought comes before the answer, so the next token is no answer, and its probabilities say "
    "nothing. Switch thinking off in model.chat_template_args ({enable_thinking: false} for many models), or take a "
    "verdict that is written (`verdict: reason` or `answer`) without `self_read`"
)


class Rendered(str):
    """A rendered prompt with special tokens in its content: the text as it reads, and where they stand."""

    marked: str  # the text with a mark in place of each
    names: Mapping[str, str]  # mark → what it stands for


@lru_cache(maxsize=8)
def special_pattern(tokenizer: Any) -> re.Pattern[str] | None:
    """What matches a tokenizer's special tokens, the longest first; None where it has none."""
    added = getattr(tokenizer, "added_tokens_decoder", {}).values()
    names = sorted({token.content for token in added if token.special}, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, names))) if names else None


def found_in(tokenizer: Any, texts: Iterable[str]) -> list[str]:
    """The special tokens of a tokenizer that stand in some texts, each once."""
    pattern = special_pattern(tokenizer)
    return list(dict.fromkeys(name for text in texts for name in pattern.findall(text))) if pattern else []


def restored(text: str, marks: Mapping[str, str]) -> str:
    """A text with the names back in place of their marks."""
    return text.translate({ord(mark): name for mark, name in marks.items()})


def encode_rendered(tokenizer: Any, rendered: Rendered) -> list[int]:
    """Token ids: the template's special tokens as such, and all between them as text."""
    pattern = special_pattern(tokenizer)
    assert pattern is not None
    ids: list[int] = []
    start = 0
    for special in [*pattern.finditer(rendered.marked), None]:
        between = restored(rendered.marked[start : special.start() if special else None], rendered.names)
        if between:
            ids += as_text(tokenizer, between)
        if special:
            ids.append(tokenizer.convert_tokens_to_ids(special[0]))
            start = special.end()
    return ids


def as_text(tokenizer: Any, text: str, *, add_special_tokens: bool = False) -> list[int]:
    """Token ids of a text in which the name of a special token is no special token."""
    return list(tokenizer(text, add_special_tokens=add_special_tokens, split_special_tokens=True)["input_ids"])


def text_note(text: str) -> str:
    """For `show`: which special tokens of a rendered prompt are encoded as text; empty where there are none."""
    return f" · encoded as text: {' '.join(text.names.values())}" if isinstance(text, Rendered) else ""


def render_chat(
    tokenizer: Any,
    messages: Sequence[Message],
    chat_template: bool = True,
    template_args: Mapping[str, Any] | None = None,
    *,
    is_open: bool = True,
) -> str:
    """The prompt text up to where the answer begins; as Rendered where its content holds special tokens' names.

    tokenizer: a Hugging Face tokenizer. chat_template: False gives the bare text without any template
    (as the published fine-tuned models were trained and asked). template_args: extra template variables.
    is_open: whether the assistant is to go on behind it.
    Raises ModelError when the tokenizer has no chat template or refuses the messages.
    """
    contents = [message.content for message in messages]
    if not chat_template:
        return "\n\n".join(contents)
    free = (chr(code) for code in range(FIRST_MARK, 0x110000) if not any(chr(code) in content for content in contents))
    marks = dict(zip(free, found_in(tokenizer, contents), strict=False))
    turns = [{"role": message.role, "content": message.content} for message in messages]
    for mark, name in sorted(marks.items(), key=lambda pair: len(pair[1]), reverse=True):
        turns = [{**turn, "content": turn["content"].replace(name, mark)} for turn in turns]
    if not getattr(tokenizer, "chat_template", None):
        raise ModelError(
            f"{tokenizer.name_or_path}: has no chat template; take an instruct model, or set `chat_template: false`"
        )
    arguments = {"date_string": FIXED_DATE, **(template_args or {})}
    try:
        if turns[0]["role"] == "system" and not accepts_system(tokenizer):
            system, user, *rest = turns  # the system message is the treatment, so it is never dropped
            turns = [{"role": "user", "content": f"{system['content']}\n\n{user['content']}"}, *rest]
        text = str(tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=is_open, **arguments))
    except Exception as error:  # a template is a program: besides jinja's errors it raises any of Python's
        name = tokenizer.name_or_path
        raise ModelError(f"{name}: its chat template refuses the prompt ({one_line(error)})") from error
    if not marks:
        return text
    rendered = Rendered(restored(text, marks))
    rendered.marked, rendered.names = text, marks
    return rendered


def accepts_system(tokenizer: Any) -> bool:
    """Whether the chat template takes a system message and shows it."""
    from jinja2.exceptions import TemplateError

    probe = [{"role": "system", "content": "evenhand-probe"}, {"role": "user", "content": "x"}]
    try:
        return "evenhand-probe" in tokenizer.apply_chat_template(probe, tokenize=False)
    except TemplateError:
        return False


def encode(tokenizer: Any, text: str, chat_template: bool = True) -> list[int]:
    """Token ids of a rendered prompt. A chat template writes its own BOS, so none is added to it again."""
    return encode_batch(tokenizer, [text], chat_template)[0]


def encode_batch(tokenizer: Any, texts: Sequence[str], chat_template: bool = True) -> list[list[int]]:
    """As encode, for at least one text; on all CPU cores, where the tokenizer is a fast one."""
    batch = tokenizer(list(texts), add_special_tokens=not chat_template, return_attention_mask=False)
    ids = list(batch["input_ids"])
    for number, text in enumerate(texts):
        if isinstance(text, Rendered):
            ids[number] = encode_rendered(tokenizer, text)
        elif not chat_template and found_in(tokenizer, [text]):  # a bare text is content, all of it
            ids[number] = as_text(tokenizer, text, add_special_tokens=True)
    return ids


def check_no_open_thought(text: str, name: str) -> None:
    """Raises ModelError where a prompt rendered for the model of this name opens a thought and does not close it."""
    if OPEN_THOUGHT.search(text, max(0, len(text) - 40)):
        raise ModelError(f"{name}: {THINKS}")


def check_switches_thinking(tokenizer: Any) -> None:
    """Raises ModelError where a chat template says the same with thinking on and off."""
    probe = [Message(role="user", content="x")]
    on, off = (render_chat(tokenizer, probe, True, dict.fromkeys(THINKING_NAMES, is_on)) for is_on in (True, False))
    if on == off:
        raise ModelError(
            f"{tokenizer.name_or_path}: its chat template does not know {' or '.join(THINKING_NAMES)}: leave "
            "patch.thinking out, or set the template's own variable in model.chat_template_args"
        )


PROBE = "evenhand-probe"


class ReplyContract(NamedTuple):
    """What a checkpoint's chat template writes around a reply."""

    prompt: str  # a short one, rendered
    before: str  # blanks or line ends between prompt and reply; mostly none
    end: int | None  # the token that ends the assistant's turn; None where the tokenizer has none
    thinks: bool  # whether a thought comes before the reply
    marks: re.Pattern[str] | None = None  # what it writes between turns, where that is plain text


def reply_contract(
    tokenizer: Any, chat_template: bool = True, template_args: Mapping[str, Any] | None = None
) -> ReplyContract:
    """Found by rendering an assistant's turn, and the prompt with thinking switched off."""
    user, reply = Message(role="user", content=PROBE), Message(role="assistant", content=PROBE)
    prompt = render_chat(tokenizer, [user], chat_template, template_args)
    if not chat_template:
        return ReplyContract(prompt, "", tokenizer.eos_token_id, thinks=False)
    off = {**(template_args or {}), **dict.fromkeys(THINKING_NAMES, False)}
    is_switched_on = render_chat(tokenizer, [user], True, off) != prompt
    try:
        before, _, after = render_chat(tokenizer, [user, reply], True, template_args, is_open=False).rpartition(PROBE)
    except ModelError:  # it takes no assistant's turn
        before, after = "", ""
    between = before.removeprefix(prompt) if before.startswith(prompt) else ""
    pattern = special_pattern(tokenizer)
    end = pattern.search(after) if pattern else None
    head, _, tail = prompt.partition(PROBE)
    plain = [part for part in (head.rpartition("\n")[2], tail) if not (pattern and pattern.search(part))]
    marks = [re.escape(line.strip()) for line in "\n".join(plain).split("\n") if line.strip()]
    return ReplyContract(
        prompt,
        between if between.isspace() else "",
        tokenizer.convert_tokens_to_ids(end[0]) if end else tokenizer.eos_token_id,
        thinks=bool(is_switched_on or OPEN_THOUGHT.search(prompt) or "think>" in between),
        marks=re.compile("|".join(marks)) if marks else None,
    )


def check_answers_at_once(contract: ReplyContract, name: str) -> None:
    """Raises ModelError where a model of this name thinks before it answers, so that no probability can be read."""
    if contract.thinks:
        raise ModelError(f"{name}: {THINKS}")


class AnswerTokens(NamedTuple):
    """The tokens that tell the answers apart."""

    lead: tuple[int, ...]  # tokens every answer starts with, put behind the prompt; empty for most tokenizers
    ids: dict[str, int]  # answer → its one token after the lead


def answer_tokens(
    tokenizer: Any, answers: Sequence[str] = ("1", "2"), contract: ReplyContract | None = None
) -> AnswerTokens:
    """Where and how an answer is read: log P(ids[a] | prompt + lead). Raises ModelError when an answer needs more.

    contract: without it a reply begins right behind the prompt.

    Mistral's tokenizer writes "1" as a word-start mark and a digit. The mark is common to all answers, so its
    probability cancels in the margin; read at the first position instead, the digits would be noise.
    """
    prompt, before = contract[:2] if contract else ("", "")
    return single_tokens(encode_options(tokenizer, answers, prompt, before=before), tokenizer.name_or_path)


def single_tokens(tokens: Mapping[str, Tokens], name: str) -> AnswerTokens:
    """The same, of the answers' tokens by the tokenizer of this name."""
    lead = tuple(os.path.commonprefix(list(tokens.values())))
    rests = {answer: ids[len(lead) :] for answer, ids in tokens.items()}
    for answer, rest in rests.items():
        if len(rest) != 1:
            raise ModelError(f"{name}: answer '{answer}' takes {len(rest)} tokens, not one; use `verdict: reason`")
    return AnswerTokens(lead, {answer: rest[0] for answer, rest in rests.items()})


def encode_options(
    tokenizer: Any, options: Sequence[str], text: str, chat_template: bool = True, before: str = ""
) -> dict[str, Tokens]:
    """Option → its tokens as a reply to `text` (the rendered prompt) would hold them; two may have the same ones.

    before: what the chat template writes between them.
    Raises ModelError when the text ends in an open thought, or the tokenizer joins an option with the line it answers.
    """
    check_no_open_thought(text, tokenizer.name_or_path)
    line = text.rsplit("\n", 1)[-1] if before or not chat_template else ""
    space = before or (" " if line and not line[-1].isspace() else "")
    line_ids = encode(tokenizer, line) if line else []
    replies = encode_batch(tokenizer, [line + space + option for option in options])
    by_option: dict[str, Tokens] = {}
    for option, tokens in zip(options, replies, strict=True):
        if tokens[: len(line_ids)] != line_ids:
            raise ModelError(
                f"{tokenizer.name_or_path}: joins option '{option}' with '{line}' before it; use `chat_template: true`"
            )
        by_option[option] = tuple(tokens[len(line_ids) :])
    return by_option


def option_tokens(
    tokenizer: Any, options: Sequence[str], text: str, chat_template: bool = True, before: str = ""
) -> dict[str, Tokens]:
    """As encode_options. Raises ModelError when the tokenizer writes two options alike, or one with no token."""
    by_option = encode_options(tokenizer, options, text, chat_template, before)
    if len({*by_option.values()} - {()}) < len(options):
        raise ModelError(
            f"{tokenizer.name_or_path}: writes two of {', '.join(options)} alike or empty; use `verdict: answer`"
        )
    return by_option


def own_tokens(options: Mapping[str, Tokens]) -> AnswerTokens | None:
    """Where the options part: the tokens that all begin with, and the next one of each.

    None where one token does not tell them apart: two go on alike ("User1", "User2" beside "Ann"), or one ends there
    ("Ann" beside "Anna").
    """
    lead = tuple(os.path.commonprefix(list(options.values())))
    firsts = {option: tokens[len(lead)] for option, tokens in options.items() if len(tokens) > len(lead)}
    return AnswerTokens(lead, firsts) if len(set(firsts.values())) == len(options) else None
