"""ConvoKit dumps: the documented layout with its oddities, whatever its age and packing; damage is named by line."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.errors import DataError
from studies.narrator.convokit import Comment, Dump, find_dump, in_time, read_dump
from tests.made.convokit_dump import CALM, QUARREL, SMALL, facts, talk, utterance, write_dump, zipped


def dump_of(rows: list[dict[str, Any]], folder: Path, **layout: Any) -> Dump:
    """What is read from these utterances, all of conversation "q.1.2"."""
    return read_dump(find_dump(write_dump(folder, rows, {"q.1.2": facts()}, **layout)))


def texts(dump: Dump) -> list[list[str]]:
    return [[comment.text for comment in discussion.comments] for discussion in dump.discussions]


def refused(path: Path) -> str:
    """The error over a dump, without its folder."""
    with pytest.raises(DataError) as caught:
        read_dump(find_dump(path))
    assert str(caught.value).isprintable()
    return str(caught.value).removeprefix(str(path))


def small(folder: Path) -> Path:
    return write_dump(folder, *SMALL)


def old(folder: Path) -> Path:
    return write_dump(folder, *SMALL, old=True, bare=True)


LAYOUTS: dict[str, Callable[[Path], Path]] = {
    "folder": small,
    "old names, bare meta": old,
    "under a top folder": lambda folder: small(folder / "awry").parent,
    "zip": lambda folder: zipped(small(folder), folder.parent / "awry.zip"),
    "zip with a top folder": lambda folder: zipped(old(folder), folder.parent / "awry.zip", "awry-corpus/"),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_gives_the_same(layout: str, tmp_path: Path) -> None:
    found = read_dump(find_dump(LAYOUTS[layout](tmp_path / "dump")))
    expected = read_dump(find_dump(small(tmp_path / "expected")))
    assert found == expected
    assert texts(found) == [["Why was this moved?", "See the guideline.", "You fool."], [r["text"] for r in CALM[1:]]]
    assert found.discussions[0].meta == facts(pair_id="c.1.2")
    assert [c.is_attack for d in found.discussions for c in d.comments] == [False, False, True, False, False]
    assert found.counts["section headers"] == 2
    assert found.names == {"Ann": "Ann", "Ben": "Ben", "Cleo": "Cleo"}


def test_ids_may_be_numbers_and_speakers_objects(tmp_path: Path) -> None:
    rows = [
        utterance(1, 7, {"id": 12, "name": "Ann"}, "one", 1, None),
        utterance("2", "7", {"id": "13", "meta": {}}, "two", "2.5", 1),
        utterance(3, 7, "12", "three", 3.0, "2"),
        utterance(4, 7, {"name": "Dan"}, "four", 4, 99),
    ]
    path = write_dump(tmp_path, rows, {"7": facts()}, speakers={"13": {"meta": {"name": "Ann"}, "vectors": []}})
    dump = read_dump(find_dump(path))
    assert [comment.speaker for comment in dump.discussions[0].comments] == ["12", "13", "12", "Dan"]
    assert dump.names == {"12": "Ann", "13": "Ann", "Dan": "Dan"}
    assert dump.counts["replies to an utterance that is not there"] == 1


def comment(key: int, time: float | None, reply_to: int | None) -> Comment:
    reply = None if reply_to is None else str(reply_to)
    return Comment(comment_id=str(key), speaker="Ann", text="x", timestamp=time, reply_to=reply, is_attack=False)


def order(*rows: tuple[int, float | None, int | None]) -> list[int]:
    """The ids of (id, time, reply to) in order of time."""
    return [int(one.comment_id) for one in in_time([comment(*row) for row in rows])]


def test_equal_times_are_ordered_by_reply_and_then_by_the_file() -> None:
    assert order((3, 5, 2), (1, 5, None), (2, 5, 1), (4, 5, 9)) == [1, 2, 3, 4]
    assert order((2, 5, None), (1, 5, None)) == [2, 1]
    assert order((2, 1, 1), (1, 2, None)) == [2, 1]  # time comes first, whatever replies to whom
    assert order((1, 5, 2), (2, 5, 1), (3, 5, 3)) == [3, 1, 2]  # 1 and 2 wait for each other, 3 for itself
    assert order((1, None, None), (2, 7, 1)) == [2, 1]


ROWS = st.lists(st.tuples(st.sampled_from([1.0, 2.0, None]), st.none() | st.integers(1, 4)), max_size=9)


@given(ROWS.flatmap(lambda rows: st.permutations(list(enumerate(rows)))))
def test_an_order_loses_nothing_goes_by_time_and_puts_replies_behind(lines):
    """Each of the comments 0, 1, ... replies to one with a lower number or to none; the file has them in any order."""
    comments = [comment(key, time, None if back is None else key - back) for key, (time, back) in lines]
    found = in_time(comments)
    assert sorted(map(hash, found)) == sorted(map(hash, comments))
    times = [float("inf") if one.timestamp is None else one.timestamp for one in found]
    assert times == sorted(times)
    place = {one.comment_id: number for number, one in enumerate(found)}
    by_id = {one.comment_id: one for one in comments}
    for one in comments:
        before = by_id.get(one.reply_to or "")
        if before and before.timestamp == one.timestamp:
            assert place[before.comment_id] < place[one.comment_id]


DAMAGE: dict[str, tuple[str, str]] = {
    "cut off": ('{"id": "x", "text"', r"/utterances\.jsonl:2: is no JSON object"),
    "no text": ('{"id": "x", "speaker": "A"}', r"/utterances\.jsonl:2: field 'text' is absent"),
    "no speaker": ('{"id": "x", "text": "t", "conversation_id": "q"}', r":2: field 'speaker' is absent"),
    "no conversation": ('{"id": "x", "text": "t", "speaker": "A"}', r":2: field 'conversation_id' is absent"),
    "time a word": (json.dumps(utterance("x", "q", "A", "t", "noon", None)), r":2: field 'timestamp' must be seconds"),
    "id twice": (json.dumps(utterance("q.1.2", "q", "A", "t", 1, None)), r":2: field 'id' is 'q\.1\.2', as in .*:1;"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_line_is_named_by_file_and_line(damage: str, tmp_path: Path) -> None:
    line, expected = DAMAGE[damage]
    path = write_dump(tmp_path, QUARREL[:1], {"q.1.2": facts()})
    with (path / "utterances.jsonl").open("a") as file:
        file.write(line + "\n")
    with pytest.raises(DataError, match=expected):
        read_dump(find_dump(path))


def test_a_damaged_zip_is_named(tmp_path: Path) -> None:
    path = zipped(write_dump(tmp_path / "dump", *SMALL), tmp_path / "awry.zip", "awry/")
    whole = bytearray(path.read_bytes())
    at = whole.index(b"awry/utterances.jsonl") + 60
    path.write_bytes(whole[:at] + bytes([whole[at] ^ 255]) + whole[at + 1 :])
    assert "awry/utterances.jsonl: is not a whole file of a zip" in refused(path)
    path.write_bytes(whole[:200])
    assert ": is not a whole zip" in refused(path)


def test_other_places_say_what_is_wanted(tmp_path: Path) -> None:
    assert "is not there; give a folder with utterances.jsonl" in refused(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    assert "holds 0 ConvoKit dumps, expected 1" in refused(tmp_path / "empty")
    write_dump(tmp_path / "two" / "a", *SMALL)
    write_dump(tmp_path / "two" / "b", *SMALL)
    assert "holds 2 ConvoKit dumps, expected 1" in refused(tmp_path / "two")
    rows = talk("q.1.2", ("Ann", "No."), ("Ben", "Yes."))
    for row in rows:
        del row["meta"]["comment_has_personal_attack"]
    path = write_dump(tmp_path / "cmv", rows, {"q.1.2": facts()})
    assert "no utterance has the field 'comment_has_personal_attack'" in refused(path)
