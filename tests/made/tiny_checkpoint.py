"""A random Llama of a few thousand weights with a byte tokenizer, saved as a checkpoint like any other."""

CHAT_TEMPLATE = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</s>{% endfor %}<assistant>"


def save_checkpoint(folder, *, window=256, word_start=False, **generation):
    """The folder of a new checkpoint, the same bytes for the same arguments.

    window: context length in tokens. word_start: put a "▁" before every text, as Mistral's tokenizer does.
    generation: what generation_config.json shall hold.
    """
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    tokenizer = byte_tokenizer(word_start=word_start)
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=64,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=1,
            head_dim=32,
            max_position_embeddings=window,
            initializer_range=0.2,  # far from uniform, so that argmaxes do not hang on rounding
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
        )
    )
    model.save_pretrained(folder)
    if generation:
        model.generation_config.update(**generation)
        model.generation_config.save_pretrained(folder)
    return folder


def byte_tokenizer(*, word_start=False, digits="split"):
    """One token a byte, beside <s> and </s>; with digits="byte" 1 and 2 have two each."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: i for i, token in enumerate(["<s>", "</s>", *letters])}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    steps = [normalizers.Prepend("_")] if word_start else []
    if digits == "byte":
        steps += [normalizers.Replace("1", "#a"), normalizers.Replace("2", "$b")]
    if steps:
        tokenizer.normalizer = normalizers.Sequence(steps)
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    wrapped = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>")
    wrapped.chat_template = CHAT_TEMPLATE
    return wrapped
