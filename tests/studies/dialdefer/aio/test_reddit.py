"""What Reddit's records say: where images are, what is gone, which comments count; and the check files."""

import pytest

from evenhand.errors import ConfigError, DataError
from studies.dialdefer.aio.check_files import read_check
from studies.dialdefer.aio.harvest import add_ids, ids_in
from studies.dialdefer.aio.raw_folder import opened
from studies.dialdefer.aio.reddit import LISTINGS, counts, gone_reason, image_addresses, in_hundreds

A, B = "https://preview.redd.it/a.png?width=1&amp;s=2", "https://preview.redd.it/b.png"
MEDIA = {
    "one": {"s": {"u": A}},
    "two": {"s": {"u": B}},
    "film": {"s": {"gif": "x", "mp4": "y"}},
    "bad": {"status": "failed"},
}


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"media_metadata": MEDIA, "gallery_data": {"items": [{"media_id": "two"}, {"media_id": "one"}]}}, ["b", "a"]),
        ({"media_metadata": MEDIA}, ["a", "b"]),  # within the text of a post
        ({"media_metadata": MEDIA, "gallery_data": {"items": [{"media_id": "bad"}, {"media_id": "away"}]}}, []),
        ({"url_overridden_by_dest": "https://i.redd.it/a.jpeg"}, ["a"]),
        ({"url_overridden_by_dest": "https://i.redd.it/a", "post_hint": "image"}, ["a"]),
        ({"url_overridden_by_dest": "https://v.redd.it/film"}, []),
        ({"selftext": "no picture"}, []),
    ],
)
def test_images_are_found_in_galleries_in_texts_and_behind_links(facts, expected):
    found = image_addresses(facts)
    assert [url.rpartition("/")[2].partition(".")[0] for url in found] == expected
    assert all("&amp;" not in url for url in found)


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({"title": "x", "selftext": "", "removed_by_category": None}, ""),
        ({"title": "x", "removed_by_category": "deleted"}, "deleted by its author"),
        ({"title": "x", "removed_by_category": "moderator"}, "removed (moderator)"),
        ({"title": "x", "selftext": "[removed]"}, "text is [removed]"),
        ({"title": "[deleted by user]"}, "text is [deleted by user]"),
        ({"body": "[deleted]"}, "text is [deleted]"),
        ({"body": "he was [deleted] to me"}, ""),
    ],
)
def test_what_is_gone_is_known_by_its_mark(facts, reason):
    assert gone_reason(facts) == reason


def test_notices_and_deleted_comments_do_not_count():
    assert counts({"body": "NOR", "author": "somebody"})
    for facts in (
        {"body": "[removed]"},
        {"body": "x", "stickied": True},
        {"body": "x", "author": "AutoModerator"},
        {"body": " "},
    ):
        assert not counts(facts)


def test_discovery_has_the_three_ways_of_the_paper():
    assert LISTINGS[:5] == ("hot", "new", "controversial", "rising", "top")
    assert len(LISTINGS) == 5 + 5 + 26
    assert len(set(LISTINGS)) == len(LISTINGS)


def test_info_is_asked_for_a_hundred_at_a_time():
    assert [len(batch) for batch in in_hundreds(map(str, range(250)))] == [100, 100, 50]


def test_ids_are_read_from_links_and_lines_and_checked(tmp_path):
    file = tmp_path / "ids.txt"
    file.write_text("1oh8hfn\nt3_1kqv68q\nhttps://www.reddit.com/r/AmIOverreacting/comments/1lr6fio/some_title/\n")
    assert ids_in(file) == ["1oh8hfn", "1kqv68q", "1lr6fio"]
    with opened(tmp_path / "raw") as folder:
        add_ids(folder, ids_in(file), "ids.txt")
        add_ids(folder, ids_in(file), "ids.txt")
        assert folder.ids == ["1oh8hfn", "1kqv68q", "1lr6fio"]
        with pytest.raises(DataError, match=r"ids\.txt: '\.\./\.\./x' is no id"):
            add_ids(folder, ["../../x"], "ids.txt")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("link: x\nkeep: perhaps\ndialogue: 'Speaker A: x'\n", "keep"),
        ("link: x\nkep: yes\ndialogue: 'Speaker A: x'\n", "kep"),
        ("link: x\nlabel: YES\ndialogue: 'Speaker A: x'\n", "label"),
        ("link: x\nkeep: yes\ndialogue: nobody says this\n", "must begin with `Speaker A:`"),
        ("link: x\n  keep: yes\n", "is not valid YAML"),
    ],
)
def test_what_a_person_cannot_have_meant_is_refused_with_the_file_and_the_key(tmp_path, text, message):
    file = tmp_path / "1abc.yaml"
    file.write_text(text)
    with pytest.raises((ConfigError, DataError), match=r"1abc\.yaml.*") as refused:
        read_check(file)
    assert message in str(refused.value)


def test_a_damaged_file_of_a_stage_is_named(tmp_path):
    with opened(tmp_path / "raw") as folder:
        (folder.path / "posts").mkdir()
        folder.file("posts", "1abc").write_text('{"post_id": "1abc"}')
        with pytest.raises(ConfigError, match=r"posts/1abc\.json"):
            folder.read("posts", "1abc")
