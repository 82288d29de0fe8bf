"""An engine that reads margins of one and the same prompts each time it is told to: contenders of tests.bench.prefill.

Each is a process of its own. The line "ours" asks for completions of our engine, "bare" for one token behind the same
token ids from vllm.LLM.generate; the answer is the seconds that it took. vLLM's prefix cache is emptied before each.
"""

import json
import resource
import sys
from typing import Any

from evenhand.chat_templates import answer_tokens, encode, render_chat
from evenhand.checkpoints import load_tokenizer, resolve
from inference.config import InferenceConfig
from inference.open_engine import open_engine
from inference.schedule import first_prompts, in_prefix_order
from tests.bench.matmul import now
from tests.made.sampling_configs import sampling_config


def main(settings: InferenceConfig) -> None:
    prompts = in_prefix_order(first_prompts(settings))
    tokenizer = load_tokenizer(resolve(settings.model))
    texts = [render_chat(tokenizer, p.messages, settings.format, settings.model.chat_template_args) for p in prompts]
    lead = answer_tokens(tokenizer).lead
    token_ids = [[*encode(tokenizer, text, settings.format), *lead] for text in texts]
    with open_engine(settings) as engine:
        llm = getattr(engine, "llm", None)
        print("READY", flush=True)
        while order := sys.stdin.readline().strip():
            if llm:
                llm.reset_prefix_cache()
            began = now()
            cached = bare(llm, token_ids) if order == "bare" else [0 for _ in engine.generate(prompts)]
            print("TOOK", now() - began, flush=True)
            if order == "bare":
                lengths = [[len(ids), found] for ids, found in zip(token_ids, cached, strict=True)]
                print("CACHED", json.dumps(lengths), flush=True)
        print("PEAK", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, flush=True)


def bare(llm: Any, token_ids: list[list[int]]) -> list[int]:
    """One token behind each prompt; how many of a prompt's tokens its prefix cache served."""
    from vllm import SamplingParams

    asked = [{"prompt_token_ids": ids} for ids in token_ids]
    outputs = llm.generate(asked, SamplingParams(temperature=0.0, max_tokens=1, detokenize=False), use_tqdm=False)
    return [output.num_cached_tokens for output in outputs]


if __name__ == "__main__":
    main(sampling_config(json.loads(sys.argv[1])))
