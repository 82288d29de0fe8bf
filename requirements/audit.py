"""Known vulnerabilities of the packages in the lock files, asked of OSV (https://osv.dev) in one request.

`make lint` runs it. Where the database cannot be reached it says so, and passes: nothing was found out.
"""

import json
import os
import re
import sys
import urllib.error
import urllib.request
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

LOCKS = sorted(Path(__file__).parent.glob("*.lock"))
DATABASE = "https://api.osv.dev/v1/querybatch"
PATIENCE = 20.0  # seconds
MOST_QUERIES = 1000  # that one request may hold
# Id of a vulnerability that is known and does not concern Evenhand → why.
ACCEPTED: Mapping[str, str] = {}


def main() -> int:
    """0 where no lock has a known vulnerability, or nobody could be asked; 1 where one has."""
    pinned = pinned_in(LOCKS)
    database = os.environ.get("EVENHAND_OSV", DATABASE)
    try:
        known = vulnerabilities(pinned, database)
    except (OSError, ValueError, KeyError, TypeError) as error:  # no network, or a reply that is none of OSV's
        print(f"audit: skipped, {len(pinned)} locked packages were not looked up: {database} gives no answer ({error})")
        return 0
    lines = [
        f"{name} {version} ({', '.join(pinned[name, version])}): {vulnerability}, https://osv.dev/{vulnerability}"
        for (name, version), ids in known.items()
        for vulnerability in ids
        if vulnerability not in ACCEPTED
    ]
    if lines:
        print("\n".join(lines), file=sys.stderr)
        print(
            "audit: take a version without them (`make lock`), or say in ACCEPTED of requirements/audit.py why one "
            "does not concern us",
            file=sys.stderr,
        )
        return 1
    print(f"audit: no known vulnerability in {len(pinned)} locked packages")
    return 0


def pinned_in(locks: Iterable[Path]) -> dict[tuple[str, str], list[str]]:
    """(package, version) → the locks that hold it. A build's own tag ("+cpu") is no part of the version."""
    found: dict[tuple[str, str], list[str]] = {}
    for lock in locks:
        for line in lock.read_text(encoding="utf-8").splitlines():
            if match := re.match(r"([A-Za-z0-9._-]+)==([^\s;+]+)", line):
                found.setdefault((match[1], match[2]), []).append(lock.name)
    return found


def vulnerabilities(pinned: Iterable[tuple[str, str]], database: str) -> dict[tuple[str, str], list[str]]:
    """Package → the ids of its known vulnerabilities, where it has any. Raises where the database gives no answer."""
    packages = list(pinned)
    assert len(packages) <= MOST_QUERIES
    queries = [{"package": {"name": n, "ecosystem": "PyPI"}, "version": version} for n, version in packages]
    request = urllib.request.Request(
        database, data=json.dumps({"queries": queries}).encode(), headers={"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=PATIENCE) as reply:
        results: list[dict[str, Any]] = json.load(reply)["results"]
    if len(results) != len(packages):
        raise ValueError(f"{len(results)} answers to {len(packages)} questions")
    ids = ([one["id"] for one in result.get("vulns", ())] for result in results)
    return {package: found for package, found in zip(packages, ids, strict=True) if found}


if __name__ == "__main__":
    sys.exit(main())
