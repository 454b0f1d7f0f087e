"""An FX graph of PyTorch as the JSON that `collc lower` reads (schemas/fx.schema.json). Needs no PyTorch: it looks at what nodes have."""

from __future__ import annotations

import hashlib
import json
import math
import re
from typing import Any, Iterable, Mapping

FORMAT = "collc-fx-1"
_COLLECTIVE = re.compile(r"^_?c10d_functional\.")


class Unsupported(Exception):
    """The graph holds what the JSON has no words for; says what."""


def target_of(node: Any) -> str:
    """`aten.mm.default`, `_c10d_functional.all_reduce.default`, `getitem`."""
    target = node.target
    if isinstance(target, str):
        return target
    # An OpOverload prints as its name; functions of Python do not.
    return target.__name__ if type(target).__name__ in ("builtin_function_or_method", "function") else str(target)


def is_node(value: Any) -> bool:
    return hasattr(value, "op") and hasattr(value, "all_input_nodes")


def is_tensor(value: Any) -> bool:
    return hasattr(value, "stride") and hasattr(value, "dtype")


def collectives(graph: Any) -> list[Any]:
    """Nodes of `_c10d_functional`, but for those that wait."""
    calls = (node for node in graph.nodes if node.op == "call_function")
    return [node for node in calls if _COLLECTIVE.match(target_of(node)) and "wait_tensor" not in target_of(node)]


def group_of(node: Any) -> str | None:
    """The name of a collective's process group: the last of its arguments that is text."""
    names = [value for value in (*node.args, *node.kwargs.values()) if isinstance(value, str)]
    return names[-1] if names else None


def row_major(shape: Iterable[int]) -> tuple[int, ...]:
    """Strides of a contiguous tensor, in elements."""
    strides: list[int] = []
    size = 1
    for extent in reversed(tuple(shape)):
        strides.insert(0, size)
        size *= max(1, extent)
    return tuple(strides)


def memory_order(shape: tuple[int, ...], strides: tuple[int, ...]) -> list[int]:
    """Dimensions as they lie in memory, the slowest first; those of one element stay where they are."""
    order = list(range(len(shape)))
    # A stable sort of the others into their own places.
    long = [d for d in order if shape[d] != 1]
    for place, dim in zip(long, sorted(long, key=lambda d: -strides[d])):
        order[place] = dim
    return order


def _whole(sizes: Iterable[Any], node: Any) -> list[int]:
    found = []
    for size in sizes:
        if not isinstance(size, int) or isinstance(size, bool):
            raise Unsupported(f"'{node.name}' has sizes that only the launch knows: compile with dynamic=False")
        found.append(int(size))
    return found


def _argument(value: Any, known: set[str]) -> Any:
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if is_node(value):
        return {"node": value.name} if value.name in known else f"<{value.name}>"
    if isinstance(value, (list, tuple)):
        return [_argument(each, known) for each in value]
    # Which GPU it is, ranks do not agree on.
    return str(getattr(value, "type", value)) if type(value).__name__ == "device" else str(value)


def dump(graph: Any, groups: Mapping[str, int], *, name: str = "region", replicated: Iterable[str] = ()) -> dict[str, Any]:
    """
    The graph as this rank sees it: a value that JSON can hold.

    `graph`: a torch.fx.Graph whose nodes have `meta["val"]`, as after AOTAutograd. `groups`: how many ranks each process group has that
    collc shall see. `replicated`: placeholders that hold the same on every rank.

    Raises Unsupported for sizes that are no numbers.
    """
    same = set(replicated)
    known: set[str] = set()
    nodes: list[dict[str, Any]] = []
    for node in graph.nodes:
        value = node.meta.get("val")
        about: dict[str, Any] = {}
        if is_tensor(value):
            shape = _whole(value.shape, node)
            strides = _whole(value.stride(), node)
            about = {"shape": shape, "dtype": str(value.dtype)}
            if tuple(strides) != row_major(shape):
                about["strides"] = strides
        if node.op in ("placeholder", "get_attr"):
            if not about:
                continue  # no tensor: users see its name
            said = {"replicated": True} if node.name in same else {}
            nodes.append({"name": node.name, "op": "placeholder", **about, **said})
        elif node.op == "call_function":
            args = [_argument(each, known) for each in node.args]
            kwargs = {key: _argument(each, known) for key, each in node.kwargs.items()}
            call = {"name": node.name, "op": "call_function", "target": target_of(node), "args": args}
            nodes.append({**call, **({"kwargs": kwargs} if kwargs else {}), **about})
        elif node.op == "output":
            nodes.append({"name": "output", "op": "output", "args": [_argument(each, known) for each in node.args]})
        else:
            raise Unsupported(f"'{node.name}' is a {node.op}, which no graph of operators has")
        known.add(node.name)
    return {"format": FORMAT, "name": name, "groups": dict(groups), "nodes": nodes}


def digest(dumped: Mapping[str, Any]) -> str:
    """Of a dumped graph: 64 hexadecimal digits, equal where the graphs are."""
    return hashlib.sha256(json.dumps(dumped, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
