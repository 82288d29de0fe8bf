"""Tiny random models of the four families, with real architectures and chat templates in each family's manner."""

import json
from pathlib import Path

from evenhand.files import shipped_yaml

N_TOKENS = 11_000  # that a tokenizer keeps, "yes" among them; the embedded model's 49,152 take a second to load

CHAT_TEMPLATES = shipped_yaml(Path(__file__).with_name("chat_templates.yaml"))
QWEN, GEMMA, GEMMA_2, LLAMA, MISTRAL, OPENS_A_THOUGHT, MAY_THINK, SPACED = CHAT_TEMPLATES.values()
THINKING, HYBRID = QWEN + OPENS_A_THOUGHT, QWEN + MAY_THINK
TEMPLATES = {"qwen2": QWEN, "gemma3": GEMMA, "llama": LLAMA, "mistral": MISTRAL}
# Whose layers or tokens are those of one above: tests that go over all families do without.
FURTHER = {"qwen3": HYBRID, "spaced": SPACED, "gemma3 that sees": GEMMA}
SIZES = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "max_position_embeddings": 1024,
    "initializer_range": 0.1,  # far from uniform, so that argmaxes do not hang on rounding
}


def save_family(folder, family, tokenizer_from, max_shard_size="50GB", **sizes):
    """The folder of a new checkpoint of one family (of TEMPLATES or FURTHER), the same every time.

    tokenizer_from: a checkpoint whose tokenizer it borrows, the first N_TOKENS of it; its chat template is the
    family's. max_shard_size: of a weight file.
    """
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, Gemma3Config

    kind = {"gemma3": "gemma3_text", "gemma3 that sees": "gemma3_text", "spaced": "llama"}.get(family, family)
    own = {"gemma3_text": {"sliding_window": 64}, "mistral": {"sliding_window": None}}.get(kind, {})
    head = {} if family == "qwen2" else {"head_dim": 32}
    copy_tokenizer(tokenizer_from, folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.chat_template = (TEMPLATES | FURTHER)[family]
    tokenizer.model_max_length = SIZES["max_position_embeddings"]
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    config = AutoConfig.for_model(
        kind,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        **{"vocab_size": len(tokenizer), **SIZES, **own, **sizes},
        **head,
    )
    if family == "gemma3 that sees":  # as the 4B to 27B models are: a language model beside an image encoder
        vision = {"hidden_size": 32, "intermediate_size": 32, "image_size": 28, "patch_size": 14}
        vision |= {"num_hidden_layers": 1, "num_attention_heads": 1}
        config = Gemma3Config(text_config=config.to_dict(), vision_config=vision, mm_tokens_per_image=4)
    model = AutoModelForCausalLM.from_config(config)
    model.to(torch.bfloat16).save_pretrained(folder, max_shard_size=max_shard_size)
    return folder


def copy_tokenizer(source, folder):
    """Write the first N_TOKENS tokens of a checkpoint's BPE tokenizer, and their merges, to another folder."""
    folder.mkdir(parents=True, exist_ok=True)
    tree = json.loads((source / "tokenizer.json").read_text(encoding="utf-8"))
    bpe = tree["model"]
    bpe["vocab"] = {token: number for token, number in bpe["vocab"].items() if number < N_TOKENS}
    bpe["merges"] = [pair for pair in bpe["merges"] if "".join(pair) in bpe["vocab"]]
    (folder / "tokenizer.json").write_text(json.dumps(tree), encoding="utf-8")
    (folder / "tokenizer_config.json").write_bytes((source / "tokenizer_config.json").read_bytes())
