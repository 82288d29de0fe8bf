"""Messages → the text a model reads, through the tokenizer's own chat template.

Templates add things (Qwen2.5 and SmolLM2 a default system message, Llama-3.1 today's date) and refuse things (Gemma-2 a
system role). Whatever comes out is kept with the run.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from evenhand.errors import ModelError, told
from evenhand.records import Message
from evenhand.special_tokens import Rendered, as_text, encode_rendered, found_in, marked, marks_for

# Llama-3.1's template prints the date it is given, else the date of the day: the same config would ask another
# question tomorrow. This is the date its template falls back to.
FIXED_DATE = "26 Jul 2024"


def render_chat(
    tokenizer: Any,
    messages: Sequence[Message],
    chat_format: str = "chat",
    template_args: Mapping[str, Any] | None = None,
) -> str:
    """The prompt text up to where the answer begins; as Rendered where its content holds special tokens' names.

    tokenizer: a Hugging Face tokenizer. chat_format: "chat", or "raw" for the bare text without any template
    (as the published fine-tuned models were trained and asked). template_args: extra template variables.
    Raises ModelError when the tokenizer has no chat template or refuses the messages.
    """
    contents = [message.content for message in messages]
    marks = marks_for(found_in(tokenizer, contents), contents) if chat_format == "chat" else {}
    turns = [{"role": m.role, "content": marked(m.content, marks)} for m in messages]
    if chat_format == "raw":
        return "\n\n".join(turn["content"] for turn in turns)
    if not getattr(tokenizer, "chat_template", None):
        raise ModelError(
            f"{tokenizer.name_or_path}: the tokenizer has no chat template; take an instruction-tuned model, "
            "or set `format: raw` to send the bare text"
        )
    arguments = {"date_string": FIXED_DATE, **(template_args or {})}
    try:
        if turns[0]["role"] == "system" and not accepts_system(tokenizer):
            turns = fold_system(turns)
        text = str(tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True, **arguments))
    except Exception as error:  # a template is a program: besides jinja's errors it raises any of Python's
        raise ModelError(f"{tokenizer.name_or_path}: its chat template refuses the prompt ({told(error)})") from error
    return Rendered.of(text, marks) if marks else text


def accepts_system(tokenizer: Any) -> bool:
    """Whether the chat template takes a system message and shows it."""
    from jinja2.exceptions import TemplateError

    probe = [{"role": "system", "content": "evenhand-probe"}, {"role": "user", "content": "x"}]
    try:
        return "evenhand-probe" in tokenizer.apply_chat_template(probe, tokenize=False)
    except TemplateError:
        return False


def fold_system(turns: list[dict[str, str]]) -> list[dict[str, str]]:
    """The system message moved to the head of the first user turn: it is the treatment, so it is never dropped."""
    system, user, *rest = turns
    return [{"role": "user", "content": f"{system['content']}\n\n{user['content']}"}, *rest]


def encode(tokenizer: Any, text: str, chat_format: str = "chat") -> list[int]:
    """Token ids of a rendered prompt. A chat template writes its own BOS, so none is added to it again."""
    return encode_batch(tokenizer, [text], chat_format)[0]


def encode_batch(tokenizer: Any, texts: Sequence[str], chat_format: str = "chat") -> list[list[int]]:
    """As encode, for at least one text; on all CPU cores, where the tokenizer is a fast one."""
    batch = tokenizer(list(texts), add_special_tokens=chat_format == "raw", return_attention_mask=False)
    found = list(batch["input_ids"])
    for number, text in enumerate(texts):
        if isinstance(text, Rendered):
            found[number] = encode_rendered(tokenizer, text)
        elif chat_format == "raw" and found_in(tokenizer, [text]):  # a bare text is content, all of it
            found[number] = as_text(tokenizer, text, add_special_tokens=True)
    return found


class AnswerTokens(NamedTuple):
    """The tokens that tell the answers apart."""

    lead: tuple[int, ...]  # tokens every answer starts with, put behind the prompt; empty for most tokenizers
    ids: dict[str, int]  # answer → its one token after the lead


def answer_tokens(tokenizer: Any, answers: Sequence[str] = ("1", "2")) -> AnswerTokens:
    """Where and how an answer is read: log P(ids[a] | prompt + lead). Raises ModelError when an answer needs more.

    Mistral's tokenizer writes "1" as a word-start mark and a digit. The mark is common to all answers, so its
    probability cancels in the margin; read at the first position instead, the digits would be noise.
    """
    tokens = {answer: list(tokenizer.encode(answer, add_special_tokens=False)) for answer in answers}
    return single_tokens(tokens, tokenizer.name_or_path)


def single_tokens(tokens: Mapping[str, Sequence[int]], name: str) -> AnswerTokens:
    """The same, of the answers' tokens by the tokenizer of this name."""
    lead = tuple(os.path.commonprefix(list(tokens.values())))
    rests = {answer: ids[len(lead) :] for answer, ids in tokens.items()}
    for answer, rest in rests.items():
        if len(rest) != 1:
            raise ModelError(
                f"{name}: answer '{answer}' takes {len(rest)} tokens of its own; margins need one, "
                "so use `verdict: reason` with this model"
            )
    return AnswerTokens(lead, {answer: rest[0] for answer, rest in rests.items()})
