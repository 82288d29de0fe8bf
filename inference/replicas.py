"""One model behind several servers: each prompt goes to the replica with the least in flight, and leaves a dead one.

A replica is away when it cannot be reached or does not list its models within engine.health_timeout_s; this is looked
at every LOOK_S seconds, and when a request fails. What it had in flight is asked of the others. It is looked at again
until it is back. One that is back, or whose last request failed, gets one prompt at a time until it has answered.
"""

import asyncio
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from evenhand.errors import ModelError
from inference.config import OpenAIConfig
from inference.server_client import NoReply, Patience, ServerClient, StatusError, tell
from inference.server_facts import ServerAway, ServerFacts, address, find_facts

LOOK_S = 5.0
MOST_MOVES = 3  # a prompt under which replicas keep dying may be what kills them


class ReplicaLeft(Exception):
    """The replica that was asked is away: its answer is no longer waited for."""


class Replica:
    """One server, as far as its state is known."""

    def __init__(self, server: OpenAIConfig, base_url: str, most_bytes: int) -> None:
        impatient = server.model_copy(update={"max_retries": 0, "timeout_s": server.health_timeout_s})
        self.client = ServerClient(server, base_url, most_bytes)
        self.look = ServerClient(impatient, base_url, most_bytes)  # with connections of its own
        self.base_url = base_url
        self.running: set[asyncio.Task[str]] = set()
        self.dropped: set[asyncio.Task[str]] = set()  # of these, the ones that were in flight when it left
        self.reason: str | None = None  # why it is away; None where it is not
        self.is_trusted = True
        self.looking = asyncio.Lock()
        self.n_looks = 0

    def room(self, concurrency: int) -> int:
        """How many requests it may be given."""
        return 0 if self.reason else (concurrency if self.is_trusted else 1) - len(self.running)

    def leave(self, reason: str) -> None:
        """Ask nothing more of it; what it has in flight ends as cancelled."""
        if self.reason != reason:
            self.reason = reason
            tell(f"warning: {reason}. Its work goes to the other replicas")
        self.dropped |= self.running
        for task in self.running:
            task.cancel()

    def come_back(self) -> None:
        """Ask it again, one prompt first."""
        if self.reason:
            self.reason, self.is_trusted = None, False
            tell(f"{self.base_url}: is back")

    async def close(self) -> None:
        """Close its connections."""
        await self.client.close()
        await self.look.close()


class Replicas:
    """The servers of a config, be it one or several. One alone is not looked at: it is asked again with pauses."""

    def __init__(self, server: OpenAIConfig, most_bytes: int) -> None:
        """most_bytes: the size that a reply may have, unpacked."""
        self.server = server
        self.all = [Replica(server, url, most_bytes) for url in server.addresses]
        self.place = ", ".join(server.addresses)
        self.changed = asyncio.Condition()  # something finished or came back
        self.watching: asyncio.Task[None] | None = None
        self.all_away_since: float | None = None

    @property
    def at_once(self) -> int:
        """The prompts that may be in flight together."""
        return self.server.concurrency * len(self.all)

    async def open(self, model: str, *, margin: bool) -> ServerFacts:
        """What the replicas have in common. Some may be away, and join when they are there.

        Raises ModelError when all are away, or when they serve different models.
        """
        self.model, self.margin = model, margin
        clients = [one.client if len(self.all) == 1 else one.look for one in self.all]
        asked = [find_facts(client, self.server, model, margin=margin) for client in clients]
        found = list(zip(self.all, await asyncio.gather(*asked, return_exceptions=True), strict=True))
        wrong = [error for _, error in found if isinstance(error, BaseException) and not isinstance(error, ServerAway)]
        away = [(one, error) for one, error in found if isinstance(error, ServerAway)]
        there = [(one, facts) for one, facts in found if isinstance(facts, ServerFacts)]
        if wrong or not there:
            raise (wrong or [error for _, error in away])[0]
        first, self.facts = there[0]
        for one, facts in there:
            if facts != self.facts:
                raise ModelError(f"{unlike(one, facts, first.base_url, self.facts)}; start all replicas alike")
        for one, error in away:
            one.leave(str(error))
        if len(self.all) > 1:
            self.watching = asyncio.create_task(self.watch())
        return self.facts

    async def post(self, path: str, body: Mapping[str, Any]) -> str:
        """The body of a reply to a POST, of whichever replica. Raises as ServerClient.post.

        Raises ModelError when all replicas were away for engine.give_up_s seconds.
        """
        patience, n_moves, avoided = Patience(self.server.max_retries, self.place), 0, set[Replica]()
        while True:
            replica = await self.pick(avoided)
            try:
                return await self.ask(replica, path, body)
            except ReplicaLeft:
                n_moves += 1
                if n_moves > MOST_MOVES:
                    raise NoReply(f"replicas went away {n_moves} times while this was asked of them") from None
            except (NoReply, StatusError) as failure:
                pause = patience.pause_after(failure)
                avoided.add(replica)
                if all(one.reason or one in avoided for one in self.all):
                    avoided.clear()
                    await replica.client.wait(pause, failure)

    async def ask(self, replica: Replica, path: str, body: Mapping[str, Any]) -> str:
        """The reply of one replica. Raises ReplicaLeft when it is found to be away."""
        task = asyncio.create_task(replica.client.post_once(address(replica.client, path), body))
        replica.running.add(task)
        try:
            reply = await task
        except asyncio.CancelledError:
            me = asyncio.current_task()
            if task in replica.dropped and not (me and me.cancelling()):
                raise ReplicaLeft from None
            raise
        except (NoReply, StatusError) as failure:
            if self.watching and not (isinstance(failure, StatusError) and failure.status < 500):
                replica.is_trusted = False
                if not await self.is_there(replica):
                    raise ReplicaLeft from None
            raise
        finally:
            replica.running.discard(task)
            replica.dropped.discard(task)
            await self.tell_waiting()
        replica.is_trusted = True
        return reply

    async def pick(self, avoided: set[Replica]) -> Replica:
        """The replica with the least in flight, of those that have room; waits for one.

        Raises ModelError when all were away for too long.
        """
        while True:
            there = [one for one in self.all if not one.reason]
            wanted = [one for one in there if one not in avoided] or there
            free = [one for one in wanted if one.room(self.server.concurrency) > 0]
            if free:
                self.all_away_since = None
                return min(free, key=lambda one: len(one.running))
            async with self.changed:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self.changed.wait(), LOOK_S)
            self.refuse_if_all_are_away()

    def refuse_if_all_are_away(self) -> None:
        """Raises ModelError when no replica has been there for engine.give_up_s seconds."""
        if not all(one.reason for one in self.all):
            self.all_away_since = None
            return
        now = time.monotonic()
        if self.all_away_since is None:
            self.all_away_since = now
            tell(f"no replica is there; waiting for one, at most {self.server.give_up_s:g} s")
        if now - self.all_away_since >= self.server.give_up_s:
            raise ModelError(
                f"none of {len(self.all)} replicas has been there for {self.server.give_up_s:g} s "
                f"({'; '.join(one.reason or '' for one in self.all)}). What was answered is kept: start "
                "them again, and the same command continues"
            )

    async def watch(self) -> None:
        """Look at every replica time and again."""
        while True:
            await asyncio.sleep(LOOK_S)
            await asyncio.gather(*(self.is_there(one) for one in self.all))

    async def is_there(self, replica: Replica) -> bool:
        """Look at a replica: it leaves or comes back by that. One look at a time, which all who ask share."""
        before = replica.n_looks
        async with replica.looking:
            if replica.n_looks == before:
                await self.look_at(replica)
                replica.n_looks += 1
        return replica.reason is None

    async def look_at(self, replica: Replica) -> None:
        """Ask a replica what it serves, which is to be what the others serve."""
        try:
            facts = await find_facts(replica.look, self.server, self.model, margin=self.margin)
        except ModelError as error:
            replica.leave(str(error))
        else:
            if facts == self.facts:
                replica.come_back()
            else:
                replica.leave(unlike(replica, facts, "the others", self.facts))
        await self.tell_waiting()

    async def tell_waiting(self) -> None:
        """Have those look again that wait for room."""
        async with self.changed:
            self.changed.notify_all()

    async def close(self) -> None:
        """Close all connections."""
        if self.watching:
            self.watching.cancel()
            await asyncio.gather(self.watching, return_exceptions=True)
        for one in self.all:
            await one.close()


def unlike(replica: Replica, its: ServerFacts, other: str, facts: ServerFacts) -> str:
    """In what a replica is not as another one."""
    keys = ("vLLM", "tokens of the answers", "checkpoint and context window")
    differing = [f"its {key}: {a}, of {other}: {b}" for key, a, b in zip(keys, its, facts, strict=True) if a != b]
    return f"{replica.base_url}: is no replica of the same model ({'; '.join(differing)})"
