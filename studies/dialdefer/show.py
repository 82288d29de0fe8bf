"""DialDefer's part of `evenhand show`: an item's prompts as a model will read them."""

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path

from evenhand.chat_templates import encode, render_chat, text_note
from evenhand.checkpoints import ModelConfig, load_tokenizer_alone, resolve
from evenhand.errors import DataError
from evenhand.terminal import say
from studies.dialdefer.datasets import SOURCES, DatasetSpec, load_items
from studies.dialdefer.records import Condition, Item
from studies.dialdefer.render import ARMS, render
from studies.dialdefer.templates import ANSWER_ORDERS, TEMPLATE_NAMES, YES_FIRST


def names() -> Iterable[str]:
    """What this study shows."""
    return SOURCES


def main(argv: Sequence[str]) -> None:
    """Print the prompt(s) of one item as a model will read them: chat template applied, tokens counted."""
    parser = argparse.ArgumentParser(
        prog="evenhand show",
        description=main.__doc__,
        epilog="example: evenhand show pocket --condition c2_incorrect --template matched --form one_token",
    )
    parser.add_argument("dataset", choices=sorted(SOURCES))
    parser.add_argument("--item", help="item id; the first item when left out")
    parser.add_argument(
        "--condition", choices=[*Condition], action="append", help="may be repeated; all four when left out"
    )
    parser.add_argument("--root", type=Path, help="folder of the published data (not needed for pocket)")
    parser.add_argument("--split", default="test")
    parser.add_argument("--model", default="embedded", help="whose chat template: Hub id, folder or 'embedded'")
    parser.add_argument("--template", choices=TEMPLATE_NAMES, default="published")
    parser.add_argument("--form", choices=("json", "one_token"), default="json", help="the answer asked for")
    parser.add_argument("--arm", choices=sorted(ARMS), default="none")
    parser.add_argument("--speakers", nargs=2, metavar=("FIRST", "SECOND"), help="speaker labels")
    parser.add_argument("--roles", choices=("2->1", "1->2"), default="2->1", help="r/AIO: who judges whom")
    parser.add_argument("--answer-order", choices=ANSWER_ORDERS, default=YES_FIRST)
    parser.add_argument("--format", choices=("chat", "raw"), default="chat")
    words = parser.parse_args(argv)
    spec = DatasetSpec(dataset=words.dataset, split=words.split, root=words.root)
    item = find(load_items([spec]), words.item)
    tokenizer = load_tokenizer_alone(resolve(ModelConfig(name=words.model), weights=False))
    for condition in map(Condition, words.condition or Condition):
        prompt = render(
            item,
            condition,
            template=words.template,
            answer_form=words.form,
            arm=words.arm,
            speakers=tuple(words.speakers) if words.speakers else None,
            roles=words.roles,
            answer_order=words.answer_order,
        )
        text = render_chat(tokenizer, prompt.messages, words.format)
        count = len(encode(tokenizer, text, words.format))
        note = text_note(text)
        say(f"=== {item.item_id} · {condition} · {count} tokens · prompt {prompt.prompt_hash}{note} ===\n{text}\n")


def find(items: Sequence[Item], item_id: str | None) -> Item:
    """The item of an id, or the first. Raises DataError naming a few ids when there is none such."""
    if item_id is None:
        return items[0]
    for item in items:
        if item.item_id == item_id:
            return item
    raise DataError(
        f"no item '{item_id}' in {items[0].dataset}; its ids look like {', '.join(i.item_id for i in items[:3])}"
    )
