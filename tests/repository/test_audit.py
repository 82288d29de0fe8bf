"""requirements/audit.py: what it asks of the database, and how it ends."""

import pytest

from requirements import audit
from tests.made.fake_server import FakeServer, Reply, as_json

LOCK = "# Written by `make lock`.\nattrs==26.1.0\ntorch==2.13.0+cpu\nuvloop==0.22.1; sys_platform == 'linux'\n"


@pytest.fixture
def locks(tmp_path, monkeypatch):
    (tmp_path / "cpu.lock").write_text(LOCK)
    (tmp_path / "dev.lock").write_text("attrs==26.1.0\n")
    monkeypatch.setattr(audit, "LOCKS", sorted(tmp_path.glob("*.lock")))


def asked(server, monkeypatch):
    monkeypatch.setenv("EVENHAND_OSV", server.base_url)
    return audit.main()


@pytest.mark.usefixtures("locks")
def test_a_known_vulnerability_stops_it_and_is_named(monkeypatch, capsys):
    found = as_json({"results": [{"vulns": [{"id": "GHSA-1"}]}, {}, {"vulns": [{"id": "PYSEC-2"}]}]})
    with FakeServer(lambda body, n: found) as server:
        assert asked(server, monkeypatch) == 1
        monkeypatch.setattr(audit, "ACCEPTED", {"GHSA-1": "we do not call it", "PYSEC-2": "nor that"})
        assert asked(server, monkeypatch) == 0
    err = capsys.readouterr().err
    assert "attrs 26.1.0 (cpu.lock, dev.lock): GHSA-1" in err
    assert "uvloop 0.22.1 (cpu.lock): PYSEC-2" in err
    assert "torch" not in err
    queries = [(query["package"]["name"], query["version"]) for query in server.asked[0]["queries"]]
    assert queries == [("attrs", "26.1.0"), ("torch", "2.13.0"), ("uvloop", "0.22.1")]


@pytest.mark.usefixtures("locks")
@pytest.mark.parametrize("reply", [Reply(503), Reply(body="<html>"), as_json({"results": []})])
def test_where_the_database_cannot_be_reached_it_says_so_and_passes(reply, monkeypatch, capsys):
    with FakeServer(lambda body, n: reply) as server:
        assert asked(server, monkeypatch) == 0
    assert asked(server, monkeypatch) == 0, "nor where nobody listens"
    assert capsys.readouterr().out.count("audit: skipped, 3 locked packages were not looked up") == 2
