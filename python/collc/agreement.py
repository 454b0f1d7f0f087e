"""How the ranks of a process group decide together what becomes of a graph."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any, Callable

from .errors import CollcError

import torch.distributed as dist
import torch.distributed.distributed_c10d as c10d


class Left(Exception):
    """The graph stays as it is; why."""


class Agreement:
    """
    What the ranks of a group tell each other while they compile, through the group's store: rank 0 hears all, and decides for all.

    A rank that hears no decision does not know what others do: that is an error, and no reason to go on alone.
    """

    def __init__(self, group: dist.ProcessGroup, timeout: float) -> None:
        self.rank, self.world = dist.get_rank(group), dist.get_world_size(group)
        self._store = c10d.PrefixStore("collc", c10d._get_process_group_store(group))
        self._timeout = timeout
        self._round = 0

    def decide(self, mine: Any, judge: Callable[[list[Any]], Any]) -> Any:
        """What `judge` makes of every rank's value, on every rank. Raises Left where a rank stays away, or `judge` raises it."""
        prefix, self._round = f"{self._round}/", self._round + 1
        if self.rank != 0:
            self._store.set(f"{prefix}{self.rank}", json.dumps(mine))
            try:
                said = self._get(f"{prefix}decision", 2 * self._timeout)
            except Exception as error:
                raise CollcError(f"rank 0 does not say what is to become of a graph: {error}") from None
        else:
            try:
                everybody = [mine, *(self._get(f"{prefix}{rank}", self._timeout) for rank in range(1, self.world))]
                said = {"is": judge(everybody)}
            except Left as error:
                said = {"left": str(error)}
            except Exception as error:
                said = {"left": f"the ranks do not agree: {error}"}
            self._store.set(f"{prefix}decision", json.dumps(said))
        if "left" in said:
            raise Left(said["left"])
        return said["is"]

    def _get(self, key: str, seconds: float) -> Any:
        self._store.wait([key], timedelta(seconds=seconds))
        return json.loads(self._store.get(key))
