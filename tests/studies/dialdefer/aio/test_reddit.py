"""What Reddit's records say: where images are, what is gone, which comments count; and the check files."""

import pytest

from evenhand.errors import DataError
from studies.dialdefer.aio.folder import opened
from studies.dialdefer.aio.reddit import add_ids, counts, gone_reason, ids_in, image_addresses

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
        ({"url_overridden_by_dest": "https://v.redd.it/film"}, []),
    ],
)
def test_images_are_found_in_galleries_in_texts_and_behind_links(facts, expected):
    urls = image_addresses(facts)
    assert [url.rpartition("/")[2].partition(".")[0] for url in urls] == expected
    assert all("&amp;" not in url for url in urls)


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({"title": "x", "selftext": "", "removed_by_category": None}, ""),
        ({"title": "x", "removed_by_category": "deleted"}, "deleted by its author"),
        ({"title": "x", "removed_by_category": "moderator"}, "removed (moderator)"),
        ({"title": "[deleted by user]"}, "text is [deleted by user]"),
        ({"body": "he was [deleted] to me"}, ""),
    ],
)
def test_what_is_gone_is_known_by_its_mark(facts, reason):
    assert gone_reason(facts) == reason


def test_notices_and_deleted_comments_do_not_count():
    assert counts({"body": "NOR", "author": "somebody"})
    for facts in ({"body": "[removed]"}, {"body": "x", "stickied": True}, {"body": "x", "author": "AutoModerator"}):
        assert not counts(facts)


def test_ids_are_read_from_links_and_lines_and_checked(tmp_path):
    file = tmp_path / "ids.txt"
    file.write_text("1oh8hfn\nt3_1kqv68q\nhttps://www.reddit.com/r/AmIOverreacting/comments/1lr6fio/some_title/\n")
    assert ids_in(file) == ["1oh8hfn", "1kqv68q", "1lr6fio"]
    with opened(tmp_path / "raw") as folder:
        add_ids(folder, ids_in(file), "ids.txt")
        add_ids(folder, ids_in(file), "ids.txt")
        assert folder.ids == ["1oh8hfn", "1kqv68q", "1lr6fio"]
        with pytest.raises(DataError, match=r"ids\.txt: '\.\./\.\./x' is not an id"):
            add_ids(folder, ["../../x"], "ids.txt")
