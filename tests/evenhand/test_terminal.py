"""What others have written is printed so that no terminal obeys it."""

import subprocess
import sys
from pathlib import Path

import pytest

from eval.__main__ import score_main
from evenhand.command import run_main
from evenhand.errors import ModelError
from evenhand.terminal import harmless
from inference.sampling import sample
from tests.made.fake_server import FakeServer, answer, refusal
from tests.made.made_runs import made_items, make_run, say
from tests.made.source_files import SOURCES, shown
from tests.made.toy_runs import config

CLEAR = "\x1b[2J"


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        (f"a{CLEAR}b", r"a\x1b[2Jb"),
        ("\x9b31m\x07\x7f", r"\x9b31m\x07\x7f"),
        ("one\rtwo\r\n", "one\\rtwo\\r\n"),
        ("\u202egnp.exe\u2066", r"\u202egnp.exe\u2066"),
        ("half \ud83d", r"half \ud83d"),
        ("tab\there\nnext line, naïve 😀 \u00a0", "tab\there\nnext line, naïve 😀 \u00a0"),
    ],
)
def test_what_steers_a_terminal_is_written_out_and_text_stays(text: str, printed: str) -> None:
    assert harmless(text) == printed


def test_an_error_with_a_servers_words_or_model_ids_is_harmless(capsys: pytest.CaptureFixture[str]) -> None:
    def entry(argv: object) -> None:
        raise ModelError(f"serves {CLEAR}judge")

    assert run_main(entry, []) == 2
    assert capsys.readouterr().err == "error: serves \\x1b[2Jjudge\n"


def test_a_models_id_in_a_runs_config_is_harmless_where_scores_are_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, items = f"owner/judge{CLEAR}", made_items("bbq", 4)
    path = make_run(tmp_path, lambda p: say(1 if p.condition.claim_is_true else 2), items=items, model=model)
    score_main([str(path), "--draws", "10"])
    out = capsys.readouterr().out
    assert r"judge\x1b[2J" in out
    assert CLEAR not in out


def test_an_items_text_is_harmless_where_it_is_shown(tmp_path: Path) -> None:
    file = tmp_path / "items.py"
    file.write_text(
        "import dataclasses, sys\n"
        "from studies.dialdefer import show\n"
        "load = show.load_items\n"
        f"show.load_items = lambda specs: [dataclasses.replace(load(specs)[0], question='{ascii(CLEAR)[1:-1]}?')]\n"
        "show.main(['pocket', '--condition', 'c1_true'])\n"
    )
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, check=True)
    assert r"\x1b[2J?" in done.stdout
    assert CLEAR not in done.stdout


def test_nothing_in_eval_prints_past_the_one_place() -> None:
    files = [file for file in SOURCES if file.parts[len(file.parts) - len(Path(shown(file)).parts)] == "eval"]
    assert [shown(file) for file in files if " print(" in file.read_text(encoding="utf-8")] == []


def test_a_server_that_writes_escapes_everywhere_leaves_the_screen_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keys = {"benchmarks": [{"dataset": "pocket", "n_items": 1}], "run": {"root": str(tmp_path)}}
    loud = refusal(400, f"no{CLEAR}")

    def entry(argv: object) -> None:
        with FakeServer(lambda body, n: answer("1") if len(server.asked) == 1 else loud) as server:
            sample(config(server.base_url, {"concurrency": 1}, **keys))

    assert run_main(entry, []) == 2
    seen = capsys.readouterr()
    assert r"no\x1b[2J" in seen.err
    assert CLEAR not in seen.out + seen.err
