"""`evenhand init DIR`: a folder to start a study of one's own from, with --items of the user's items."""

import json
import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import islice, takewhile
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from evenhand.config import CONFIGS, did_you_mean
from evenhand.data_files import rows
from evenhand.errors import ConfigError
from evenhand.files import shipped_yaml, write_whole
from evenhand.templates import is_conversation, same_value, unpacked_cell
from evenhand.terminal import command_parser, say
from inference.config import load_sampling_config
from studies.framing.rows import bare
from studies.framing.section import MOST_ANSWERS

STARTER, PROPOSALS = Path(__file__).with_name("starter"), Path(__file__).with_name("proposals")
STUDY = "study.yaml"
N_LOOKED_AT = 1000  # rows
LETTERS = "abcdefghij"  # of options
FEW = 6  # values of a column that names an answer
FEWEST_WORDS, LONG = 2, 4  # of a column's texts, on average, where it is asked about, and where it is a response
MOST = 0.9  # of the rows in which a key must name an option
NAMES = shipped_yaml(PROPOSALS / "columns.yaml")  # what people call columns
TRUTHS = dict.fromkeys(NAMES["yes"], "yes") | dict.fromkeys(NAMES["no"], "no")
Values = Mapping[str, Sequence[Any]]  # column → what the rows have in it
quoted = partial(json.dumps, ensure_ascii=False)


def main(argv: Sequence[str]) -> None:
    """Write a small study that runs as it is: a config, 40 items, a training config, and a README with the commands.

    With --items, a study of a file's own items in its place, as its columns suggest; what it has guessed it says. The
    folder must be new or empty.
    """
    parser = command_parser("init", main)
    options = parser.parse_args(argv)
    named = {role: getattr(options, role) for role in NAMES["named"]}
    if not options.items and (any(named.values()) or not options.folder):
        parser.error("name a folder, or --items FILE")
    folder = options.folder or Path(re.sub(r"\W+", "-", options.items.name.partition(".")[0]) + "-study")
    text = proposal(options.items, options.at, folder, named) if options.items else ""
    files: list[Path] = [] if text else sorted(STARTER.iterdir())
    files += [CONFIGS, CONFIGS.with_name("slurm")] if options.slurm else []
    target = folder.resolve()
    new = target.parent / f".{target.name}.partial"  # of "/", too, which has no name
    try:
        if target == Path.cwd():  # a shell that stands in the folder would not follow its replacement
            raise ConfigError(f"{folder}: is the folder you stand in; name another, which is new or empty")
        if target.exists() and any(target.iterdir()):
            raise ConfigError(f"{folder}: is there already, with files in it; name a new folder")
        shutil.rmtree(new, ignore_errors=True)  # a killed command's
        new.mkdir(parents=True)
        for file in files:
            (shutil.copytree if file.is_dir() else shutil.copyfile)(file, new / file.name)
        if text:
            write_whole(new / STUDY, text)
        if options.slurm:  # its jobs run in this environment
            settings = new / "slurm" / "settings.sh"
            settings.write_text(settings.read_text().replace("VENV=.venv", f"VENV={sys.prefix}"))
        new.rename(target)  # all of it or nothing
    except OSError as error:
        raise ConfigError(f"{folder}: cannot be made ({error.strerror}); name another folder") from None
    finally:
        shutil.rmtree(new, ignore_errors=True)
    head = [f"{line[2:]}\n" for line in takewhile(lambda line: line.startswith("#"), text.splitlines())][2:]
    names = ", ".join(sorted(file.name for file in folder.iterdir()))
    say(f"{''.join(head)}{folder} now holds {names}. Next: cd {folder}; evenhand show {STUDY}")
    if text:  # or an error says why no item can be asked
        config = load_sampling_config([str(folder / STUDY)])
        config.units()
        say(f"{folder / STUDY}: {config.study.describe()}")


def proposal(file: Path, at: str, folder: Path, named: Mapping[str, list[str]]) -> str:
    """A study of items as YAML, at whose head stands what to look at in it. named: role → columns that the user names.

    Raises ConfigError where it cannot be told what is asked, or what is right.
    """
    columns = columns_of([record.values for record in islice(rows(file, at), N_LOOKED_AT)])
    for role, name in [(role, name) for role, names in named.items() for name in names if name not in columns]:
        raise ConfigError(f"--{role} {name}: {file} has no such column. {did_you_mean(name, [*columns])}")
    conversations = {name for name, values in columns.items() if all(map(is_conversation, values))}
    columns |= {name: [turns[-1]["content"] for turns in columns[name]] for name in conversations}
    roles = roles_in(columns, named, conversations)
    kind = next((kind for kind, needed in NAMES["kinds"].items() if all(roles[role] for role in needed)), None)
    if kind is None:
        lacks = "what is right" if roles["question"] else "what is asked"
        raise ConfigError(NAMES["unclear"].format(file=file, lacks=lacks, columns=", ".join(columns), few=FEW))
    pair = roles["response"]
    label = {"choices": roles["key"], "claims": []}.get(kind, roles["label"])[:1]
    used = {*roles["id"], *label, *(name for role in NAMES["kinds"][kind] for name in roles[role])}
    spelt = values_in(columns[label[0]]) if label else {}
    is_claim = kind == "question" and roles["question"][-1] in roles["claim"] and {*spelt} <= TRUTHS.keys()
    readings = sayings(spelt, pair) if kind == "pair" else {spelt[v]: TRUTHS[v] for v in sorted(spelt) if is_claim}
    numbers = sorted(int(value) for value in spelt if re.fullmatch(r"-?\d+", value))
    is_scale = 2 < len(numbers) == len(spelt) and numbers[-1] - numbers[0] < MOST_ANSWERS
    known = map(str, range(numbers[0], numbers[-1] + 1)) if is_scale else sorted(spelt.values())
    label = label or ["{{ 'chosen' }}"] * (pair[:1] == ["chosen"])
    return TEMPLATES.get_template(f"{kind}.yaml").render(
        roles,
        path=file,
        name=re.sub(r"[^\w.]+", "-", file.name.partition(".")[0], flags=re.ASCII) or "study",
        source={"file": os.path.relpath(file, folder)} | ({"at": at} if at else {}),
        columns={key: names[0] for key, names in (("id", roles["id"]), ("label", label)) if names},
        unused=[name for name in columns if name not in used],
        text_of={name: first_of(name, columns) for name in roles["right"] + roles["wrong"]},
        is_from_1=set() < {*spelt} <= {*"123456789"},
        readings=readings,
        is_scale=is_scale,
        answers={value: value for value in (["yes", "no"] if is_claim else known)},
    )


def roles_in(columns: Values, named: Mapping[str, list[str]], conversations: set[str]) -> dict[str, list[str]]:
    """Role → its columns: those that the user names, else as their names say. Nothing that says what is right is among
    those that are asked about; nor is what no name tells, unless it is the only text."""
    roles = {role: called(columns, role) for role in NAMES["roles"]}
    is_true = {name for name, values in columns.items() if set() < {*values_in(values)} <= TRUTHS.keys()}
    roles["labels"] = named["right"] or roles["label"] + roles["right"]
    roles["right"] = named["right"] or [name for name in roles["right"] if name not in is_true][:1]
    if any(named[role] for role in ("wrong", "option", "response")):  # these decide what kind of study it is
        roles |= {role: named[role] for role in ("wrong", "option", "response")}
    else:
        unnamed = {name: columns[name] for name in columns if not any(name in names for names in roles.values())}
        roles["option"] = options_in(unnamed)
        roles["response"] = pair_in({name: unnamed[name] for name in unnamed if name not in roles["option"]})
        roles["wrong"] = [name for name in roles["wrong"] if name not in is_true][:1]
    options, pair = roles["option"], roles["response"]
    candidates = [name for name in columns if name not in options + pair + roles["wrong"]]
    telling = keys_in(columns, options, candidates)
    texts_alone = [name for name in telling if is_plain(columns[name]) and re.search(r"[^\W\d]{2}", str(columns[name]))]
    keys = [name for name in roles["labels"] + texts_alone * (not named["right"]) if name in telling]
    roles["key"] = (named["right"] if named["option"] else keys)[:1]
    labels = {name: values_in(columns[name]) for name in roles["labels"] if not options}
    if pair:
        roles["label"] = [name for name, spelt in labels.items() if sayings(spelt, pair) is not None]
    else:  # letters name options, which are not here
        few = {name: spelt for name, spelt in labels.items() if 1 < len(spelt) <= min(FEW, len(columns[name]) - 1)}
        roles["label"] = [name for name, spelt in few.items() if named["right"] or not {*spelt} <= {*LETTERS}]
    roles["id"] = [name for name in candidates if name not in roles["labels"] and is_id(name, columns[name])][:1]
    hidden = {*roles["labels"], *roles["right"], *roles["id"], *roles["aside"], *telling}
    visible = [name for name in candidates if name not in hidden and is_plain(columns[name])]
    prose = [name for name in visible if name not in conversations and is_prose(columns[name])]
    last = [name for name in roles["question"] if name in visible][:1]
    texts = [name for name in prose if name in roles["question"] + roles["context"] and name not in last] + last
    roles["claim"] = [name for name in roles["claim"] if name not in is_true][:1]
    if roles["label"] and roles["label"][0] in is_true and not pair + roles["wrong"]:  # of an answer beside it
        texts = [name for name in texts if name not in roles["claim"]] + roles["claim"]
    in_pair = [f"{name}.0.content" for name in pair[:1] if name in conversations]
    roles["question"] = named["question"] or texts or prose * (len(prose) == 1) or in_pair
    return roles


def called(columns: Values, role: str) -> list[str]:
    """The columns that hold something and whose names say a role, the likeliest first."""
    names = {name: plain_name(name.rpartition(".")[2] or name) for name, values in columns.items() if any(values)}
    return [name for pattern in NAMES["roles"][role] for name in names if re.fullmatch(pattern, names[name])]


def plain_name(name: str) -> str:
    """A name in lower case, without accents, blanks and signs."""
    return re.sub(r"[\W_]", "", unicodedata.normalize("NFKD", name.casefold()))


def values_in(values: Sequence[Any]) -> dict[str, str]:
    """The different values of a column but lists: as they count → as one is written."""
    return {same_value(v): str(v).strip() for v in values if not isinstance(v, list | dict | None)}


def first_of(name: str, columns: Values) -> str:
    """A column in a template; of a list, or of several answers in a cell, the first one."""
    if any(isinstance(unpacked_cell(value), list) for value in columns[name]):
        return slot(name).replace(" }}", "[0] }}")
    sign = re.search(NAMES["list"], "\n".join(map(str, columns[name])))
    return slot(name).replace(" }}", f' | split("{sign[1]}") | first }}}}') if sign else slot(name)


def keys_in(columns: Values, options: Sequence[str], names: Sequence[str]) -> list[str]:
    """Those of some columns that name an item's option in nearly all rows, by its text, letter, number or column."""
    by_row = [leaves([*cells]) for cells in zip(*(columns[name] for name in options), strict=True)]
    n_options = max(map(len, by_row), default=0)
    symbols = [*LETTERS[:n_options], *map(str, range(n_options + 1)), *leaves([*options])]
    keys = list[str]()
    for name in names if options else ():
        cells = [(cell, {*row, *symbols}) for cell, row in zip(columns[name], by_row, strict=True) if cell is not None]
        # "A, C" names two options: an item that cannot be asked, of a key all the same
        n_naming = sum({*leaves(cell)} <= spelt or {*re.split("[,; ]+", bare(cell))} <= spelt for cell, spelt in cells)
        keys += [name] if n_naming > MOST * len(cells) else []
    return keys


def leaves(value: Any) -> list[str]:
    """The texts and numbers in a value, its lists and objects, as `bare` writes them."""
    value = unpacked_cell(value)
    parts = [*value.values()] if isinstance(value, dict) else value
    if isinstance(parts, list):
        return [leaf for part in parts for leaf in leaves(part)]
    return [] if parts is None else [bare(parts)]


def pair_in(columns: Values) -> list[str]:
    """Two columns with responses to compare, whose names differ in their endings: called so, or else long texts."""
    if {"chosen", "rejected"} <= columns.keys():
        return ["chosen", "rejected"]
    ends = NAMES["endings"]
    pairs = [[a, b] for a in columns for b in columns if a[:-1] == b[:-1] and (a[-1:] + b[-1:]).lower() in ends]
    called_so = [pair for pair in pairs if plain_name(pair[0][:-1]) in NAMES["responses"]]
    long = [pair for pair in pairs if all(is_prose(columns[name], LONG) for name in pair)]
    return next(iter(called_so + long), [])


def sayings(spelt: Mapping[str, str], pair: Sequence[str]) -> dict[str, str] | None:
    """What a label says of a pair → the column that it means; {} where it names the columns, None where it is no label
    of theirs."""
    spelt = {value: spelt[value] for value in sorted(spelt) if "tie" not in value}
    if {*spelt.values()} <= {*pair}:
        return {}
    is_told = [*spelt] == ["a>b", "b>a"] or [value[-1:] for value in spelt] == [name[-1:].lower() for name in pair]
    return dict(zip(spelt.values(), pair, strict=True)) if is_told else None


def columns_of(looked_at: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Each column's cells; of one that holds objects those one level down, as ARC's question.stem."""
    columns: dict[str, list[Any]] = {name: [row.get(name) for row in looked_at] for name in next(iter(looked_at), {})}
    for name, cells in [*columns.items()]:
        if all(isinstance(cell, dict) and not is_list_of_texts(cell) for cell in cells):
            columns |= {f"{name}.{key}": [cell.get(key) for cell in cells] for key in cells[0]}
            del columns[name]
    return columns


def options_in(columns: Values) -> list[str]:
    """The columns that hold an item's options: one with a list, or A, B, C; ans0, ans1, ans2; option1, option2."""
    lists = [name for name, values in columns.items() if all(is_list_of_texts(value) for value in values)]
    stems = dict[str, list[str]]()
    for name in filter(lambda name: is_plain(columns[name]), columns):
        match = re.fullmatch(r"([^.]*?)[ _(-]*([0-9]|[A-J]|[a-j])[).]?", name)
        if match and (plain_name(match[1]) in NAMES["options"] or re.search(r"[^\W\d]", str(columns[name][0]))):
            stems.setdefault(plain_name(match[1]), []).append(name)
    numbered = [names for stem, names in stems.items() if names[2 - (stem in NAMES["options"]) :]]
    return next(iter([*([name] for name in lists if "." not in name), *numbered, *([name] for name in lists)]), [])


def is_plain(values: Sequence[Any]) -> bool:
    """Whether a column has values that are no lists or objects."""
    return any(v is not None and not isinstance(v, list | dict) for v in values)


def is_id(name: str, values: Sequence[Any]) -> bool:
    """Whether a column names its rows: called so, and no value twice or absent."""
    is_called_so = re.search(r"(^|[\W_])(u?id|idx|index|key|nr|no)\W*$|[a-z]Id$", name, re.I) is not None
    return is_called_so and is_plain(values) and None not in values and len({*map(str, values)}) == len(values)


def is_list_of_texts(value: Any) -> bool:
    """Whether a value is a list of texts, also beside labels as ARC has it."""
    value = unpacked_cell(value)
    parts = value.get("text") if isinstance(value, dict) else value
    texts = [part.get("text") if isinstance(part, dict) else part for part in parts] if isinstance(parts, list) else []
    return len(texts) > 1 and all(isinstance(text, str) for text in texts)


def is_prose(values: Sequence[Any], n_words: int = FEWEST_WORDS) -> bool:
    """Whether a column has texts of so many words, on average, that differ between rows; no dates, no addresses."""
    texts = [value for value in values if value is not None]
    if not texts or not all(isinstance(text, str) and not re.match(NAMES["no_prose"], text) for text in texts):
        return False
    return sum(len(text.split()) for text in texts) >= n_words * len(texts) and 4 * len({*texts}) > len(texts)


def slot(name: str) -> str:
    """A column in a template."""
    is_name = re.fullmatch(r"[^\W\d]\w*(\.([^\W\d]\w*|\d+))*", name) and name not in NAMES["taken"]
    return f"{{{{ {name} }}}}" if is_name else f"{{{{ item[{quoted(name)}] }}}}"


TEMPLATES = Environment(  # whose signs are none of a study's own templates
    loader=FileSystemLoader(PROPOSALS), undefined=StrictUndefined, trim_blocks=True, keep_trailing_newline=True,
    variable_start_string="<<", variable_end_string=">>", block_start_string="<%", block_end_string="%>",
)  # fmt: skip
TEMPLATES.filters |= {"quoted": quoted, "slot": slot}
