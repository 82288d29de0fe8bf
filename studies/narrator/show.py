"""The narrator study's part of `evenhand show`: a conversation's prompts as a model will read them, and the options."""

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path

from evenhand.chat_templates import encode, render_chat, text_note
from evenhand.checkpoints import ModelConfig, load_tokenizer_alone, resolve
from evenhand.errors import DataError
from evenhand.terminal import say
from studies.narrator.corpora import CORPORA, CorpusSpec, load_conversations
from studies.narrator.prompts import narrator_prompts
from studies.narrator.records import OPTION_ORDERS, TASKS, VISIBILITIES, Conversation, NarratorFactors

NOBODY, ATTACKER = "nobody", "attacker"


def names() -> Iterable[str]:
    """What this study shows."""
    return CORPORA


def main(argv: Sequence[str]) -> None:
    """Print the prompt(s) of one conversation as a model will read them, with the options under each.

    Everything that is not named is shown in all its ways: tasks, who is called Me, whether the attack is seen.
    """
    parser = argparse.ArgumentParser(
        prog="evenhand show",
        description=main.__doc__,
        epilog="example: evenhand show pocket-conflicts --task blame --narrator attacker --visibility hidden",
    )
    parser.add_argument("corpus", choices=sorted(CORPORA))
    parser.add_argument("--conversation", help="conversation id; the first one when left out")
    parser.add_argument("--task", choices=TASKS, action="append", help="may be repeated")
    parser.add_argument(
        "--narrator", action="append", help="who is called Me: nobody, attacker, or a speaker's name; may be repeated"
    )
    parser.add_argument("--visibility", choices=VISIBILITIES, action="append", help="may be repeated")
    parser.add_argument(
        "--option-order", choices=OPTION_ORDERS, default=OPTION_ORDERS[0], help="where Me stands among the options"
    )
    parser.add_argument("--seed", type=int, default=42, help="of the order of names")
    parser.add_argument("--root", type=Path, help="folder of the built corpus (not needed for pocket-conflicts)")
    parser.add_argument("--split", choices=("test", "train", "all"), default="all")
    parser.add_argument("--model", default="embedded", help="whose chat template: Hub id, folder or 'embedded'")
    parser.add_argument("--format", choices=("chat", "raw"), default="chat")
    words = parser.parse_args(argv)
    spec = CorpusSpec(dataset=words.corpus, split=words.split, root=words.root)
    conversation = find(load_conversations(spec), words.conversation)
    narrators = [speaker_of(name, conversation) for name in words.narrator or ()]
    tokenizer = load_tokenizer_alone(resolve(ModelConfig(name=words.model), weights=False))
    prompts = narrator_prompts(
        conversation,
        tasks=words.task or TASKS,
        visibilities=words.visibility or VISIBILITIES,
        option_orders=[words.option_order],
        seed=words.seed,
    )
    for prompt in prompts:
        factors = prompt.factors
        assert isinstance(factors, NarratorFactors)
        if narrators and factors.narrator not in narrators:
            continue
        text = render_chat(tokenizer, prompt.messages, words.format)
        count = len(encode(tokenizer, text, words.format))
        say(
            f"=== {prompt.item_id} · {factors.task} · {factors.visibility} · {prompt.condition} · {count} tokens · "
            f"prompt {prompt.prompt_hash}{text_note(text)} ===\n{text}\n"
        )
        listed = " | ".join(f"{name} (the target)" if name == factors.target else name for name in prompt.answer_space)
        say(f"--- options: {listed}\n")


def find(conversations: Sequence[Conversation], conversation_id: str | None) -> Conversation:
    """The conversation of an id, or the first. Raises DataError naming a few ids when there is none such."""
    if conversation_id is None:
        return conversations[0]
    for conversation in conversations:
        if conversation.conversation_id == conversation_id:
            return conversation
    near = ", ".join(one.conversation_id for one in conversations[:3])
    raise DataError(f"no conversation '{conversation_id}' in {conversations[0].dataset}; its ids look like {near}")


def speaker_of(name: str, conversation: Conversation) -> str:
    """The id of the speaker that a word means, "" for nobody. Raises DataError naming the speakers."""
    ids = {shown: speaker for speaker, shown in conversation.names.items()}
    if name in ids:
        return ids[name]
    if name in (NOBODY, ATTACKER):
        return "" if name == NOBODY else conversation.attacker
    raise DataError(
        f"--narrator {name}: nobody of that name speaks in {conversation.conversation_id}; take {NOBODY}, {ATTACKER} "
        f"or one of {', '.join(ids)}"
    )
