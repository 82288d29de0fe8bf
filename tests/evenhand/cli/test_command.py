"""The console command: every verb explains itself, and a user's error is one sentence and exit code 2."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from evenhand.cli.command import entry_of, every_verb, main, usage
from evenhand.errors import DataError
from evenhand.terminal import run_main
from tests.made.places import ROOT

Evenhand = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def evenhand(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Evenhand:
    """The command, called in this process as the console calls it."""

    def call(*words: str) -> "subprocess.CompletedProcess[str]":
        monkeypatch.chdir(ROOT)
        monkeypatch.setattr(sys, "argv", ["evenhand", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        return subprocess.CompletedProcess(words, int(ended.value.code or 0), *capsys.readouterr())

    return call


def test_every_verb_is_listed_and_explains_itself(capsys: pytest.CaptureFixture[str]) -> None:
    for verb in every_verb():
        assert f"\n  {verb} " in usage()
        with pytest.raises(SystemExit) as ended:
            entry_of(verb)(["--help"])
        assert ended.value.code == 0
        assert f"evenhand {verb}" in capsys.readouterr().out


def test_words_are_read_before_a_library_that_takes_seconds_is_loaded() -> None:
    code = (
        "import contextlib, sys\n"
        "from evenhand.cli.command import entry_of, every_verb\n"
        "for verb in every_verb():\n"
        "    with contextlib.suppress(SystemExit): entry_of(verb)(['--help'])\n"
        "heavy = {'torch', 'transformers', 'pandas', 'scipy', 'matplotlib', 'datasets'}\n"
        "print(sorted(heavy & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_an_unknown_verb_is_met_with_the_nearest_one(evenhand: Evenhand) -> None:
    done = evenhand("sampel")
    assert done.returncode == 2
    assert done.stderr.startswith("error: unknown verb 'sampel'. Did you mean 'sample'?")


def test_bad_input_is_one_message_without_a_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    def entry(argv: object) -> None:
        raise DataError("file.jsonl:3: is damaged; restore it")

    assert run_main(entry, []) == 2
    assert capsys.readouterr().err == "error: file.jsonl:3: is damaged; restore it\n"


def test_ctrl_c_says_that_nothing_is_lost(capsys: pytest.CaptureFixture[str]) -> None:
    def entry(argv: object) -> None:
        raise KeyboardInterrupt

    assert run_main(entry, []) == 130
    assert "what was computed is kept" in capsys.readouterr().err


def test_show_prints_the_rendered_prompt_and_its_token_count(evenhand: Evenhand) -> None:
    done = evenhand("show", "pocket", "--condition", "c2_incorrect", "--template", "matched", "--verdict", "margin")
    assert done.returncode == 0, done.stderr
    assert "=== pocket-test-0 · c2_incorrect · " in done.stdout
    assert "<|im_start|>user\nYou are given a chatlog." in done.stdout
    assert "<|im_start|>assistant\n" in done.stdout
    assert "template: matched" in done.stdout


def test_fetch_names_where_the_model_lies_and_counts_the_items(evenhand: Evenhand) -> None:
    done = evenhand("fetch", "configs/inference/pocket.yaml")
    assert done.returncode == 0, done.stderr
    assert "model embedded is at " in done.stdout
    assert "pocket (test): 800 items" not in done.stdout  # the config takes the first 200
    assert "pocket (test): 200 items" in done.stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["training.__main__", "training/qwen2.5-7b-sft.yaml"], "data/unified is no finished build"),
        (["training.merge", "training"], "is no training run"),
    ],
)
def test_what_is_absent_is_told_before_torch_is_imported(words: list[str], says: str, tmp_path: Path) -> None:
    code = (
        "import importlib, sys\n"
        "from evenhand.terminal import run_main\n"
        "module, *words = sys.argv[1:]\n"
        "ended = run_main(importlib.import_module(module).main, words)\n"
        "print(ended, 'torch' in sys.modules)"
    )
    module, path = words
    command = [sys.executable, "-c", code, module, str(ROOT / "configs" / path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert says in done.stderr
    assert done.stdout.split() == ["2", "False"]
