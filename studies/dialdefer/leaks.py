"""Test items must not be trained on, under their own id or under another: checked for every split and training run."""

from collections.abc import Iterable
from dataclasses import dataclass

from evenhand.errors import DataError
from evenhand.records import normalised
from studies.dialdefer.records import Item

ID, TEXT = "id", "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class Leak:
    """A training item and the test item that it gives away."""

    train_id: str
    test_id: str
    reason: str  # ID or TEXT


class HeldOut:
    """The test items of a split, as ids and question texts to look others up by."""

    def __init__(self, items: Iterable[Item]) -> None:
        """Takes the test items of every dataset of the split: a question may stand in two of them."""
        self.ids: set[str] = set()
        self.by_text: dict[str, str] = {}
        for item in items:
            self.add(item.item_id, normalised(item.question))

    def add(self, item_id: str, text: str) -> None:
        """Hold out one more item; `text` is normalised already, empty for r/AIO, which asks no question."""
        self.ids.add(item_id)
        if text:
            self.by_text.setdefault(text, item_id)

    def find(self, item: Item) -> Leak | None:
        """The test item that a training item gives away, if any; ids are looked at first."""
        if item.item_id in self.ids:
            return Leak(train_id=item.item_id, test_id=item.item_id, reason=ID)
        same = self.by_text.get(normalised(item.question))
        return Leak(train_id=item.item_id, test_id=same, reason=TEXT) if same else None

    def refuse(self, items: Iterable[Item], where: str) -> None:
        """Raises DataError naming both items of the first leak, and how many there are."""
        leaks = [leak for item in items if (leak := self.find(item))]
        if leaks:
            first = leaks[0]
            same = "is the test item" if first.reason == ID else "asks the same question as the test item"
            raise DataError(
                f"{where}: training item '{first.train_id}' {same} '{first.test_id}' ({len(leaks)} such in all): what "
                "is measured after training would be memory. Build the split anew with `evenhand build unified`"
            )
