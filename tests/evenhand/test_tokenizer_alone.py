"""`evenhand show` loads its tokenizer without torch: the same class, text and tokens, seconds earlier."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evenhand.chat_templates import encode, render_chat
from evenhand.checkpoints import load_tokenizer
from evenhand.embedded import embedded_model_path
from evenhand.records import Message
from tests.made.tiny_checkpoint import byte_tokenizer
from tests.made.tiny_families import TEMPLATES

TEXT = "Is the  sky\nblue?<|im_end|> é中\U0001f600 <s>"
ALONE = """
import json, sys
from pathlib import Path
from evenhand.checkpoints import load_tokenizer_alone
from tests.evenhand.test_tokenizer_alone import read_by
print(json.dumps([read_by(load_tokenizer_alone(Path(folder))) for folder in sys.argv[1:]]))
assert sys.modules["torch"] is None
"""


def read_by(tokenizer: Any) -> list[Any]:
    """What a tokenizer is and makes of a prompt."""
    text = render_chat(tokenizer, [Message(role="user", content=TEXT)])
    return [type(tokenizer).__name__, tokenizer.special_tokens_map, text, encode(tokenizer, text)]


def folders(root: Path) -> list[Path]:
    """The embedded checkpoint; a template in tokenizer_config.json and one beside it; classes of the families."""
    made = [embedded_model_path()]
    for in_config in (True, False):
        made.append(root / f"bytes-{in_config}")
        byte_tokenizer().save_pretrained(made[-1], save_jinja_files=not in_config)
    for family, cls in {"qwen2": "Qwen2Tokenizer", "gemma3": "GemmaTokenizer", "mistral": "LlamaTokenizer"}.items():
        made.append(root / family)
        tokenizer = load_tokenizer(embedded_model_path())
        tokenizer.chat_template = "{{ bos_token }}" + TEMPLATES[family]
        tokenizer.save_pretrained(made[-1])
        config = made[-1] / "tokenizer_config.json"
        config.write_text(json.dumps({**json.loads(config.read_text()), "tokenizer_class": cls}))
        (made[-1] / "config.json").write_text(json.dumps({"model_type": family}))
    return made


@pytest.mark.slow
def test_without_torch_a_tokenizer_is_of_the_same_class_and_renders_and_encodes_alike(tmp_path: Path) -> None:
    made = folders(tmp_path)
    assert [(folder / "chat_template.jinja").exists() for folder in made[1:3]] == [False, True]
    done = subprocess.run([sys.executable, "-c", ALONE, *map(str, made)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert found == [read_by(load_tokenizer(folder)) for folder in made]
    assert len({name for name, *_ in found}) > 1
