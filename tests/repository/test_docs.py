"""README and docs: short, without dead links, with commands that still parse; blocks behind <!-- run --> do run."""

import argparse
import json
import re
import shlex
from pathlib import Path

import pytest

from eval.estimates.resampling import Drawing
from eval.options import Options
from evenhand.cli import planning
from evenhand.cli.command import entry_of
from evenhand.config import read_yaml
from inference.config import load_sampling_config
from tests.made.places import ROOT
from training.config import load_training_config

PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")), ROOT / "slurm" / "README.md"]
MODULES = {"inference": "sample", "training": "train"}  # `python -m MODULE` is the verb
WITHOUT_SCHEMA = ("accelerate", "serving")  # configs of other programs


class ParsedError(Exception):
    """A verb has read its words; what it would do next is not the test's business."""


def prose(page):
    """A page without its fenced blocks."""
    return re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)


def anchors(page):
    """The anchors that GitHub gives to a page's headings."""
    headings = re.findall(r"^#+ (.*)$", prose(page), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


BLOCKS = re.DOTALL | re.MULTILINE


def sh_lines(text):
    """The commands in a page's ```sh blocks, comments left out."""
    for block in re.findall(r"^```sh\n(.*?)^```", text, BLOCKS):
        for line in block.replace("\\\n", " ").splitlines():
            if command := shlex.join(shlex.split(line, comments=True)):
                yield command


def called(page):
    """A page's name in the tests."""
    return str(page.relative_to(ROOT).with_suffix(""))


COMMANDS = [pytest.param(line, id=f"{called(page)}: {line}") for page in PAGES for line in sh_lines(page.read_text())]


@pytest.mark.parametrize("page", PAGES, ids=called)
def test_every_link_leads_somewhere(page):
    for link in re.findall(r"\]\(([^)]+)\)", prose(page)):
        file, _, anchor = link.partition("#")
        target = page.parent / file if file else page
        assert "://" in link or target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_parses(line, tmp_path, monkeypatch):
    words = shlex.split(line)
    monkeypatch.chdir(tmp_path)  # where no config lies: should a verb go on after all, it finds nothing to do
    while re.fullmatch(r"[A-Z_]+=.*", words[0]):  # of its environment
        del words[0]
    if "-m" in words[:2] and words[2] in MODULES:
        words = ["evenhand", MODULES[words[2]], *words[3:]]
    if words[0] == "evenhand":
        parse(words[1], words[2:], monkeypatch)
    elif words[0] == "make":
        assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), flags=re.MULTILINE), "no such target"
    assert "/" not in words[0] or (ROOT / words[0]).is_file()
    monkeypatch.chdir(ROOT)  # an override may name another config
    for config, overrides in configs_in(words):
        check_config(config, overrides)


def parse(verb, words, monkeypatch):
    """Let a verb read its words, and stop it there. Fails as argparse does, with SystemExit."""
    for name in ("parse_args", "parse_intermixed_args"):
        read = getattr(argparse.ArgumentParser, name)

        def read_only(parser, args, read=read):
            read(parser, args)
            raise ParsedError

        monkeypatch.setattr(argparse.ArgumentParser, name, read_only)
    with pytest.raises(ParsedError):
        entry_of(verb)(words)


def configs_in(words):
    """Each config that a command names (with braces expanded), with the overrides that follow it.

    slurm/pipeline.sh takes several sampling configs in one word.
    """
    words = [part for word in words for part in (word.split() if word.startswith("configs/") else [word])]
    for position, word in enumerate(words):
        if not word.startswith("configs/"):
            continue
        rest = words[position + 1 :]
        n = next((n for n, later in enumerate(rest) if "=" not in later or later.startswith("-")), len(rest))
        before, brace, inside = word.partition("{")
        names, _, after = inside.partition("}")
        yield from ((before + name + after, list(rest[:n])) for name in (names.split(",") if brace else [""]))


def check_config(config, overrides):
    """Load a config of ours with its overrides, from the checkout. Raises ConfigError."""
    tree = read_yaml(ROOT / config)
    if config.split("/")[1] in WITHOUT_SCHEMA:
        return
    load = load_training_config if "method" in tree else load_sampling_config
    load([str(ROOT / config), *overrides])


@pytest.mark.slow
def test_the_blocks_that_are_marked_run_one_after_another(tmp_path, monkeypatch):
    """In one folder, as a reader does; DIGEST is whatever the command before wrote."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Options, "drawing", Drawing(n_draws=200, seed=0))
    for name, fewer in {"SHIFTS": (15.0,), "N_AT_LAST": 100}.items():
        monkeypatch.setattr(planning, name, fewer)
    blocks = [
        block for page in PAGES for block in re.findall(r"^<!-- run -->\n(```sh\n.*?^```)", page.read_text(), BLOCKS)
    ]
    assert len(blocks) == 2
    for line in [line for block in blocks for line in sh_lines(block)]:
        verb, *words = shlex.split(line)[1:]
        if line.startswith("cd "):
            monkeypatch.chdir(verb)
        else:
            found = [str(next(Path().glob(word.replace("DIGEST", "*")), word)) for word in words if "DIGEST" in word]
            entry_of(verb)([found.pop(0) if "DIGEST" in word else word for word in words])
    assert json.loads(next(Path().glob("runs/inference/again-*/compare/reruns.json")).read_text())[0]["rate"] == 0
