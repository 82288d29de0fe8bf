"""What tests of downloads share: none of this machine's network settings, and a publishers' server on loopback."""

from collections.abc import Iterator

import pytest

from tests.made.publishers_server import BIG, SMALL, PublishersServer


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HF_HUB_OFFLINE", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "HF_TOKEN", "GITHUB_TOKEN"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server() -> Iterator[PublishersServer]:
    with PublishersServer({"data/big.bin": BIG, "data/small.jsonl": SMALL}) as running:
        yield running
