"""What Reddit's records say: where images are, and what is gone."""

import pytest

from studies.dialdefer.aio.reddit import gone_reason, image_addresses
from tests.made.places import cases

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


@pytest.mark.parametrize(("facts", "reason"), cases(__file__)["gone"])
def test_what_is_gone_is_known_by_its_mark(facts, reason):
    assert gone_reason(facts) == reason
