"""The console command: every verb explains itself, and a user's error is one sentence and exit code 2."""

import subprocess
import sys
from importlib.metadata import version

import pytest

from evenhand.cli.command import VERBS, by_config, entry_of, main, usage
from evenhand.errors import ConfigError, DataError
from evenhand.terminal import run_main
from tests.made.places import CONFIGS, ROOT


def test_every_verb_is_listed_and_explains_itself(capsys):
    for verb in VERBS:
        assert f"\n  {verb} " in usage()
        with pytest.raises(SystemExit) as ended:
            entry_of(verb)(["--help"])
        assert ended.value.code == 0
        assert f"evenhand {verb}" in capsys.readouterr().out


def test_words_are_read_before_a_library_that_takes_seconds_is_loaded():
    code = (
        "import contextlib, sys\n"
        "from evenhand.cli.command import VERBS, entry_of\n"
        "assert 'pydantic' not in sys.modules\n"
        "for verb in VERBS:\n"
        "    with contextlib.suppress(SystemExit): entry_of(verb)(['--help'])\n"
        "heavy = {'torch', 'transformers', 'pandas', 'scipy', 'matplotlib', 'datasets'}\n"
        "print(sorted(heavy & sys.modules.keys()))\n"
        "entry_of('show')(['pocket', '--only', 'condition=c1_true'])\n"
        "print(sorted(heavy & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "[]" in done.stdout.splitlines()
    assert done.stdout.splitlines()[-1] == "['transformers']", "`show` tokenises, and no more"


NEAREST = "error: unknown verb 'sampel'. Did you mean 'sample'?"


@pytest.mark.parametrize(("word", "code", "says"), [("sampel", 2, NEAREST), ("--version", 0, version("evenhand"))])
def test_the_command_says_its_version_and_the_verb_that_is_nearest_to_an_unknown_one(
    word, code, says, monkeypatch, capsys
):
    monkeypatch.setattr(sys, "argv", ["evenhand", word])
    with pytest.raises(SystemExit) as ended:
        main()
    assert (ended.value.code, says in "".join(capsys.readouterr())) == (code, True)


@pytest.mark.parametrize(
    ("raised", "code", "says"),
    [
        (DataError("file.jsonl:3: is damaged; restore it"), 2, "error: file.jsonl:3: is damaged; restore it\n"),
        (KeyboardInterrupt(), 130, "what was computed is kept"),
    ],
)
def test_bad_input_and_ctrl_c_are_one_message_without_a_traceback(raised, code, says, capsys):
    def entry(argv):
        raise raised

    assert run_main(entry, []) == code
    assert says in (told := capsys.readouterr().err)
    assert len(told.splitlines()) == 1


def test_fetch_names_where_the_model_lies_and_counts_the_items(capsys):
    entry_of("fetch")([str(CONFIGS / "inference" / "pocket.yaml")])
    out = capsys.readouterr().out
    assert "model embedded is at " in out
    assert "pocket (test): 200 items" in out, "the config takes the first 200 of 800"


def test_words_belong_to_the_config_before_them_however_long_they_are():
    long = f"dialdefer.benchmarks=[{'x' * 300}]"
    assert by_config(["a.yaml", long, "b.yaml"]) == [["a.yaml", long], ["b.yaml"]]
    with pytest.raises(ConfigError, match="stands before any config"):
        by_config(["a.b=1", "a.yaml"])
