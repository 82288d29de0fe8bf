"""What Reddit's records say: where images are, and what is gone."""

import pytest

from studies.dialdefer.aio.reddit import gone_reason, image_addresses
from tests.made.places import cases

CASES = cases(__file__)


@pytest.mark.parametrize(("facts", "expected"), CASES["images"])
def test_images_are_found_in_galleries_in_texts_and_behind_links(facts, expected):
    urls = image_addresses(facts)
    assert [url.rpartition("/")[2].partition(".")[0] for url in urls] == expected
    assert all("&amp;" not in url for url in urls)


@pytest.mark.parametrize(("facts", "reason"), CASES["gone"])
def test_what_is_gone_is_known_by_its_mark(facts, reason):
    assert gone_reason(facts) == reason
