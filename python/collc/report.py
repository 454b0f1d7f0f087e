"""What has become of graphs, and why."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Mapping, Sequence


@dataclass(frozen=True)
class StepReport:
    """A program that the compiler proposed, and what came of it."""

    nodes: tuple[str, ...]
    taken: bool
    why: str
    #: Predicted seconds of the program, and of copies into and out of symmetric memory.
    seconds: float
    copy_seconds: float
    copied_bytes: int
    #: Seconds of the graph's own way: measured of collectives, predicted of the rest.
    baseline: float


@dataclass
class GraphReport:
    """One graph that Inductor has compiled, and one of its process groups."""

    name: str
    group: str
    ranks: int
    collectives: int
    #: Why nothing was replaced; None where something was.
    left: str | None = None
    steps: list[StepReport] = field(default_factory=list)
    #: Seconds that collectives were measured to take as they are, by node.
    measured: Mapping[str, float] = field(default_factory=dict)
    symmetric_bytes: int = 0
    #: Sizes that the programs were not for, with the reason, and how many of them were carried out as without collc.
    refused: Mapping[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    """Of the pass."""
    partition: str = ""
    """The compiler's own report."""
    dumped: Mapping[str, Any] = field(default_factory=dict)
    """The graph as the compiler was given it."""

    def __str__(self) -> str:
        head = f"{self.name}, group {self.group} of {self.ranks} ranks, {self.collectives} collectives"
        if self.left is not None:
            return f"{head}: left as it is, because {self.left}"
        taken = sum(step.taken for step in self.steps)
        lines = [f"{head}: {taken} of {len(self.steps)} programs taken in {self.seconds:.1f} s, {self.symmetric_bytes / 2**20:.1f} MiB of symmetric memory"]
        for step in self.steps:
            copies = f" and {step.copy_seconds * 1e6:.1f} us for copies of {step.copied_bytes / 2**20:.2f} MiB" if step.copied_bytes else ""
            took = f"{step.seconds * 1e6:.1f} us predicted{copies}, {step.baseline * 1e6:.1f} us as it was"
            lines.append(f"  {'taken' if step.taken else 'left '}  {' + '.join(step.nodes)}: {took}{'' if step.taken else f'; {step.why}'}")
        lines += [f"  as without collc, {count} programs: {why}" for why, count in self.refused.items()]
        return "\n".join(lines)


@dataclass(frozen=True)
class Report:
    """What has happened to graphs since `enable`, the oldest first."""

    graphs: Sequence[GraphReport]

    def __str__(self) -> str:
        return "\n".join(map(str, self.graphs)) if self.graphs else "no graph with collectives has been compiled"
