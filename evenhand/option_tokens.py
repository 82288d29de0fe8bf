"""Answer options in a tokenizer's tokens: as whole replies, and by the first token that tells them apart.

Behind a chat template's assistant header a reply begins with no space, and is tokenised by itself: "Ann", or with the
word-start mark that Mistral's tokenizer writes. Bare text (format raw) goes on in its last line: "Answer:" with " Ann".
"""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from evenhand.chat_templates import AnswerTokens, encode, encode_batch
from evenhand.errors import ModelError

Tokens = tuple[int, ...]


def encode_options(tokenizer: Any, options: Sequence[str], text: str, chat_format: str = "chat") -> dict[str, Tokens]:
    """Option → its tokens as a reply to `text` (the rendered prompt) would hold them; two may have the same ones.

    Raises ModelError when the tokenizer joins an option with the line that it answers.
    """
    line = text.rsplit("\n", 1)[-1] if chat_format == "raw" else ""
    space = " " if line and not line[-1].isspace() else ""
    before = encode(tokenizer, line) if line else []
    replies = encode_batch(tokenizer, [line + space + option for option in options])
    found: dict[str, Tokens] = {}
    for option, tokens in zip(options, replies, strict=True):
        if tokens[: len(before)] != before:
            raise ModelError(
                f"{tokenizer.name_or_path}: cannot tell the tokens of option '{option}' from those of '{line}' before "
                "it; use `format: chat` with this model"
            )
        found[option] = tuple(tokens[len(before) :])
    return found


def option_tokens(tokenizer: Any, options: Sequence[str], text: str, chat_format: str = "chat") -> dict[str, Tokens]:
    """As encode_options. Raises ModelError when the tokenizer writes two options alike, or one with no token."""
    found = encode_options(tokenizer, options, text, chat_format)
    refuse_alike(found, len(options), tokenizer.name_or_path)
    return found


def refuse_alike(options: Mapping[str, Tokens], n_options: int, name: str) -> None:
    """Raises ModelError naming options whose probabilities cannot be told apart."""
    if len(options) < n_options:
        raise ModelError(f"{name}: an option is listed twice among {', '.join(options)}; give each a name of its own")
    seen: dict[Tokens, str] = {}
    for option, tokens in options.items():
        if not tokens:
            raise ModelError(f"{name}: option '{option}' has no token, so it has no probability; use `verdict: answer`")
        if tokens in seen:
            raise ModelError(
                f"{name}: writes the options '{seen[tokens]}' and '{option}' with the same tokens, so their "
                "probabilities cannot be told apart; use `verdict: answer`"
            )
        seen[tokens] = option


def own_tokens(options: Mapping[str, Tokens]) -> AnswerTokens | None:
    """Where the options part: the tokens that all begin with, and the next one of each.

    None where one token does not tell them apart: two go on alike ("User1", "User2" beside "Ann"), or one ends there
    ("Ann" beside "Anna").
    """
    lead = tuple(os.path.commonprefix(list(options.values())))
    firsts = {option: tokens[len(lead)] for option, tokens in options.items() if len(tokens) > len(lead)}
    return AnswerTokens(lead, firsts) if len(set(firsts.values())) == len(options) else None
