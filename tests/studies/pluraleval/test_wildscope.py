"""Threads from Pushshift's dumps: what counts, what is drawn, and that nobody's name is kept."""

import json
import random
import tracemalloc
from contextlib import nullcontext
from pathlib import Path

import pytest

from evenhand.cli.build import main as build_main
from evenhand.errors import DataError
from evenhand.files import shipped_yaml
from studies.pluraleval.sources import ThreadSpec, load_threads
from studies.pluraleval.wildscope import Stratum, Wanted, build, lines_of

ECONOMICS = Stratum(community="AskEconomics", n_threads=10, fewest=2, most=4)
MAY_2019 = 1_556_712_000
zstandard = pytest.importorskip("zstandard", reason="`make venv` installs it from the lock files")


def post(name, subreddit="AskEconomics", **fields):
    """A submission."""
    own = {"id": name, "subreddit": subreddit, "author": f"asker_{name}", "title": f"Post {name}", "selftext": "Why?"}
    return {**own, "score": 5, "num_comments": 0, "created_utc": MAY_2019, **fields}


def comment(name, under, subreddit="AskEconomics", **fields):
    """A comment on a submission."""
    own = {"id": name, "subreddit": subreddit, "author": f"speaker_{name}", "body": f"I think {name}."}
    return {**own, "link_id": f"t3_{under}", "parent_id": f"t3_{under}", "score": 3, "created_utc": MAY_2019, **fields}


def comments(under, n, prefix="c", **fields):
    """So many comments on a submission."""
    return [comment(f"{prefix}{under}{number:03d}", under, **fields) for number in range(n)]


def packed(path, rows):
    """Write records (or raw lines) as a zstd file whose frame asks for a window of 2 GiB, which nobody has to fill."""
    lines = [row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows]
    path.parent.mkdir(parents=True, exist_ok=True)
    compressor = zstandard.ZstdCompressor(level=1, write_content_size=False).compressobj()
    frame = bytearray(compressor.compress(b"".join(line + b"\n" for line in lines)) + compressor.flush())
    assert not frame[4] & 0x20, "not in one segment, so the next byte describes the window"
    frame[5] = (31 - 10) << 3
    path.write_bytes(frame)
    return path


def built(folder, posts, said, **wanted):
    packed(folder / "raw" / "RS_2019-05.zst", posts)
    packed(folder / "raw" / "RC_2019-05.zst", said)
    manifest = build(folder / "out", folder / "raw", Wanted(**{"strata": [ECONOMICS], **wanted}))
    return load_threads(ThreadSpec(dataset="wildscope", root=folder / "out")), manifest


def test_threads_with_fewest_to_most_comments_that_count_are_drawn(tmp_path):
    posts = [post(name) for name in ("p1", "p2", "p3", "p4", "p5")]
    said = [row for number, row in enumerate(posts, start=1) for row in comments(row["id"], number)]
    said[2]["parent_id"] = "t1_cp2000"  # a reply to a comment counts, too
    threads, manifest = built(tmp_path, posts, said)
    assert [(thread.thread_id, len(thread.comments)) for thread in threads] == [("p2", 2), ("p3", 3), ("p4", 4)]
    assert [one.is_reply for one in threads[0].comments] == [False, True]
    counts = {"posts": 5, "too few comments": 1, "too many comments": 1, "fit": 3, "wanted": 10, "drawn": 3}
    assert manifest["strata"]["AskEconomics"] == counts


LEFT_OUT = shipped_yaml(Path(__file__).with_name("left_out.yaml"))
DROPPED = LEFT_OUT["comments"]


@pytest.mark.parametrize(("reason", "fields"), DROPPED.items(), ids=DROPPED)
def test_what_does_not_count_is_left_out_and_counted(tmp_path, reason, fields):
    threads, manifest = built(tmp_path, [post("p1")], [*comments("p1", 2), comment("cx", "p1", **fields)])
    assert len(threads[0].comments) == 2
    reason = reason.partition(",")[0]
    assert manifest["dropped"]["comments"] == {reason: 1}
    assert f"| comments | {reason} | 1 |" in (tmp_path / "out" / "README.md").read_text()


def test_bots_are_known_by_their_names_and_people_and_deleted_accounts_are_not_taken_for_them(tmp_path):
    authors = ("gifv-bot", "HelperBot_", "bot_of_things", "JohnAbbot", "robotics_fan", "notabot", "[deleted]")
    (thread,), _ = built(tmp_path, [post("p1")], [comment(f"c{n}", "p1", author=a) for n, a in enumerate(authors)])
    assert [one.text for one in thread.comments] == [f"I think c{n}." for n in range(3, 7)]


def test_posts_of_other_years_subreddits_and_without_text_of_their_own_are_left_out(tmp_path):
    posts = [post(f"p{n}", **fields) for n, fields in enumerate(LEFT_OUT["others"], start=1)]
    said = [row for one in posts for row in comments(one["id"], 2, subreddit=one["subreddit"])]
    threads, manifest = built(tmp_path, posts, said)
    assert [thread.thread_id for thread in threads] == ["p1", "p6"]
    assert threads[1].post == "Post p6"
    assert manifest["dropped"]["submissions"] == {"selftext removed": 1, "by AutoModerator": 1, "title deleted": 1}


def test_nobodys_name_is_in_the_folder(tmp_path):
    said = [
        *comments("p1", 2),
        comment("zzzzzzz9", "p1", body="As u/some_one-1 and /u/Other_Two said; see r/x/u/ and menu/bar."),
    ]
    threads, _ = built(tmp_path, [post("p1", selftext="Thanks, u/helper99!")], said)
    texts = "".join(file.read_text() for file in (tmp_path / "out").iterdir() if file.is_file())
    for name in ("asker_", "speaker_", "some_one", "Other_Two", "helper99", "zzzzzzz9"):
        assert name not in texts
    assert threads[0].text == "Thanks, u/someone!"
    assert threads[0].comments[-1].text == "As u/someone and /u/someone said; see r/x/u/ and menu/bar."


def test_the_draw_is_the_same_whatever_the_order_and_another_with_another_seed(tmp_path):
    posts = [post(f"p{number}") for number in range(40)]
    said = [row for one in posts for row in comments(one["id"], 3)]
    few = {"strata": [Stratum(community="askeconomics", n_threads=5, fewest=2, most=4)]}
    first, _ = built(tmp_path / "a", posts, said, **few)
    mixed = random.Random(1)
    again, _ = built(tmp_path / "b", mixed.sample(posts, 40), mixed.sample(said, 120), **few)
    other, _ = built(tmp_path / "c", posts, said, seed=1, **few)
    assert [one.thread_id for one in first] == [one.thread_id for one in again] != [one.thread_id for one in other]
    assert first == again


def test_a_file_that_is_cut_off_is_named(tmp_path):
    packed(tmp_path / "RS_2019-05.zst", [post("p1")])
    whole = packed(tmp_path / "RC_2019-05.zst", comments("p1", 3000)).read_bytes()
    (tmp_path / "RC_2019-05.zst").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=r"RC_2019-05.zst: is cut off; fetch it again"):
        build(tmp_path / "out", tmp_path, Wanted(strata=[ECONOMICS]))
    assert not (tmp_path / "out" / "manifest.json").exists()


MIB = 1 << 20
BOMBS = {  # a line of it, how often it comes, and what is said of it; each is some kilobytes, packed
    "one line": (b"x" * MIB, 48, r"RC_2019-05.zst:2: has more than 16 MiB"),
    "newlines around text": (b"x" + b"\n" * (MIB // 16), 500, None),
}


@pytest.mark.parametrize(("part", "n", "message"), BOMBS.values(), ids=BOMBS)
def test_12_kb_of_zst_that_unpacked_to_millions_of_empty_lines_or_one_endless_line_take_little_memory(
    part, n, message, tmp_path
):
    file = packed(tmp_path / "RC_2019-05.zst", [b"first", part * n])
    assert file.stat().st_size < 20_000
    tracemalloc.start()
    with pytest.raises(DataError, match=message) if message else nullcontext():
        assert sum(map(len, lines_of(file))) == len(b"first") + n
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 80 * MIB


def test_files_of_a_subreddit_plain_files_and_several_frames_are_read(tmp_path):
    raw = tmp_path / "raw"
    packed(raw / "askeconomics_submissions.zst", [post("p1")])
    said = raw / "sub" / "askeconomics_comments.zst"
    frames = [packed(said, comments("p1", 1, prefix)).read_bytes() for prefix in "ab"]
    said.write_bytes(b"".join(frames))
    (raw / "RC_2019-06.jsonl").write_text(json.dumps(comment("z1", "p1")))
    build_main(["wildscope", "--raw", str(raw), "--out", str(tmp_path / "out"), "--stratum", "AskEconomics:1:1-5"])
    (thread,) = load_threads(ThreadSpec(dataset="wildscope", root=tmp_path / "out"))
    assert len(thread.comments) == 3
