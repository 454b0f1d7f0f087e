"""An FX graph of PyTorch as the JSON that `collc lower` reads (schemas/fx.schema.json). Needs no PyTorch: it looks at what nodes have."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import re
from typing import Any, Iterable, Mapping

from .artifacts import Extent, holds, names_in

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
    """The name of a collective's process group: the last of its arguments that is text, where it is not given by name."""
    if "group_name" in node.kwargs:
        return node.kwargs["group_name"]
    names = [value for value in node.args if isinstance(value, str)]
    return names[-1] if names else None


def mutated(node: Any) -> list[str]:
    """Names of the nodes whose memory a call changes, as its schema says; none where it has no schema, or where its name tells it."""
    schema = getattr(node.target, "_schema", None)
    found: list[str] = []
    if schema is None or re.match(r"(aten|_?c10d_functional)\.", target_of(node)):
        return found
    for place, parameter in enumerate(schema.arguments):
        given = node.args[place] if place < len(node.args) else node.kwargs.get(parameter.name)
        if parameter.alias_info is not None and parameter.alias_info.is_write:
            found += [each.name for each in (given if isinstance(given, (list, tuple)) else [given]) if is_node(each)]
    return list(dict.fromkeys(found))


def is_size(value: Any) -> bool:
    """Whether it is torch's SymInt: a number that only a launch knows."""
    return type(value).__name__ == "SymInt" and hasattr(value, "node")


class Sizes:
    """
    The sizes of a graph that only a launch knows, by names that do not depend on how torch counts its symbols: n0, n1, … in the order in
    which nodes have them.
    """

    def __init__(self, graph: Any) -> None:
        #: By name, torch's symbol.
        self.symbols: dict[str, Any] = {}
        self._names: dict[str, str] = {}
        self._env: Any = None
        taken = {node.name for node in graph.nodes}
        for node in graph.nodes:
            value = node.meta.get("val")
            for each in (*value.shape, *value.stride()) if is_tensor(value) else (value,):
                if not is_size(each):
                    continue
                self._env = each.node.shape_env
                for symbol in sorted(each.node.expr.free_symbols, key=str):
                    if str(symbol) in self._names:
                        continue
                    count = len(self.symbols)
                    name = next(n for n in (f"n{count}" + "_" * i for i in itertools.count()) if n not in taken)
                    self.symbols[name], self._names[str(symbol)] = symbol, name

    def extent(self, value: Any) -> Extent:
        """A length in words of manifests. Raises Unsupported for one that they have no words for."""
        if isinstance(value, int) and not isinstance(value, bool):
            return int(value)
        if not is_size(value):
            raise Unsupported(f"{value!r} is no length")
        return self._of(value.node.expr)

    def extents(self, values: Iterable[Any]) -> tuple[Extent, ...]:
        return tuple(map(self.extent, values))

    def _of(self, e: Any) -> Extent:
        kind, args = type(e).__name__, getattr(e, "args", ())
        if getattr(e, "is_Integer", False):
            return int(e)
        if getattr(e, "is_Symbol", False) and str(e) in self._names:
            return self._names[str(e)]
        if kind == "Add":
            signs = [(each, _is_negative(each)) for each in args]
            first, *rest = sorted(signs, key=lambda each: each[1])
            total = self._of(first[0])
            for each, negative in rest:
                total = {"op": "sub", "a": total, "b": self._of(-each)} if negative else {"op": "add", "a": total, "b": self._of(each)}
            return total
        if kind == "Pow" and getattr(args[1], "is_Integer", False) and int(args[1]) > 0:
            return self._fold("mul", [args[0]] * int(args[1]))
        if kind in _FOLDS:
            return self._fold(_FOLDS[kind], args)
        if kind in _QUOTIENTS:
            return {"op": _QUOTIENTS[kind], "a": self._of(args[0]), "b": self._of(args[1])}
        raise Unsupported(f"a length is {e}, for which collc has no words")

    def _fold(self, op: str, args: Iterable[Any]) -> Extent:
        first, *rest = map(self._of, args)
        for each in rest:
            first = {"op": op, "a": first, "b": each}
        return first

    def ranges(self) -> dict[str, dict[str, int]]:
        """
        By name, limits and a hint, as far as torch knows them. Hints are powers of two within the limits, none smaller than what the graph
        was made with where that can be: what is decided for 1024 rows serves for 900, and the dump is the same. Where the graph's guards
        have no powers of two, they are what it was made with.
        """
        found: dict[str, dict[str, int]] = {}
        for name, symbol in self.symbols.items():
            about = found[name] = {}
            limits = self._env.var_to_range.get(symbol)
            hints = self._env.backed_var_to_val if hasattr(self._env, "backed_var_to_val") else getattr(self._env, "var_to_val", {})
            for key, value in (("min", limits and limits.lower), ("max", limits and limits.upper), ("hint", hints.get(symbol))):
                # Infinity is no integer, and neither is what nobody knows.
                if getattr(value, "is_Integer", False) or type(value) is int:
                    about[key] = max(0, int(value))
        rounded = {name: {**about, **({"hint": _power(about)} if "hint" in about else {})} for name, about in found.items()}
        at = {name: about["hint"] for name, about in rounded.items() if "hint" in about}
        told = (rule for rule in self.holds() if names_in(rule["left"]) <= set(at))
        return rounded if all(holds(rule, at) for rule in told) else found

    def holds(self) -> list[dict[str, Any]]:
        """What torch's own guards say to divide: where it does not, torch compiles another graph."""
        said = []
        for guard in getattr(self._env, "guards", ()):
            e = guard.expr
            if type(e).__name__ != "Equality" or e.args[1] != 0 or type(e.args[0]).__name__ not in ("Mod", "PythonMod"):
                continue
            try:
                rule = {"left": self._of(e.args[0]), "relation": "eq", "right": 0}
            except Unsupported:
                continue
            if rule not in said:
                said.append(rule)
        return said


def _power(about: Mapping[str, int]) -> int:
    """The least power of two that is not below the hint, within the limits."""
    hint = about["hint"]
    power = 1 << (hint - 1).bit_length() if hint > 0 else 0
    return min(max(power, about.get("min", 0)), about.get("max", power))


_FOLDS = {"Mul": "mul", "Max": "max", "Min": "min"}
_QUOTIENTS = {"FloorDiv": "div", "CleanDiv": "div", "Mod": "mod", "PythonMod": "mod"}


def _is_negative(e: Any) -> bool:
    factor = e.args[0] if type(e).__name__ == "Mul" else e
    return bool(getattr(factor, "is_Integer", False) and int(factor) < 0)


def _stride(extent: Extent) -> Extent:
    """A stride without `Max(1, …)`, which is torch's for tensors without elements."""
    if not isinstance(extent, Mapping):
        return extent
    a, b = _stride(extent["a"]), _stride(extent["b"])
    if extent["op"] == "max" and 1 in (a, b):
        return b if a == 1 else a
    return {"op": extent["op"], "a": a, "b": b}


def row_major(shape: Iterable[Extent]) -> tuple[Extent, ...]:
    """Strides of a contiguous tensor, in elements."""
    strides: list[Extent] = []
    size: Extent = 1
    for extent in reversed(tuple(shape)):
        strides.insert(0, size)
        if isinstance(size, int) and isinstance(extent, int):
            size = size * max(1, extent)
        else:
            size = extent if size == 1 else size if extent == 1 else {"op": "mul", "a": extent, "b": size}
    return tuple(strides)


def _argument(value: Any, known: set[str], sizes: Sizes) -> Any:
    if is_node(value) and is_size(value.meta.get("val")):
        value = value.meta["val"]
    if is_size(value):
        extent = sizes.extent(value)
        return extent if isinstance(extent, int) else {"size": extent}
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if is_node(value):
        return {"node": value.name} if value.name in known else f"<{value.name}>"
    if isinstance(value, (list, tuple)):
        return [_argument(each, known, sizes) for each in value]
    # Which GPU it is, ranks do not agree on.
    return str(getattr(value, "type", value)) if type(value).__name__ == "device" else str(value)


def dump(graph: Any, groups: Mapping[str, int], *, name: str = "region", replicated: Iterable[str] = ()) -> dict[str, Any]:
    """
    The graph as this rank sees it: a value that JSON can hold.

    `graph`: a torch.fx.Graph whose nodes have `meta["val"]`, as after AOTAutograd. `groups`: how many ranks each process group has that
    collc shall see. `replicated`: placeholders that hold the same on every rank.

    Sizes that only a launch knows have names, by which `sizes` lists what is known of them. Raises Unsupported for what they are no sums,
    products and quotients of.
    """
    sizes = Sizes(graph)
    same = set(replicated)
    known: set[str] = set()
    nodes: list[dict[str, Any]] = []
    for node in graph.nodes:
        value = node.meta.get("val")
        about: dict[str, Any] = {}
        if is_tensor(value):
            shape = sizes.extents(value.shape)
            strides = tuple(map(_stride, sizes.extents(value.stride())))
            about = {"shape": list(shape), "dtype": str(value.dtype)}
            if strides != row_major(shape):
                about["strides"] = list(strides)
        if is_size(value):
            continue  # users have the size itself
        if node.op in ("placeholder", "get_attr"):
            if not about:
                continue  # no tensor: users see its name
            said = {"replicated": True} if node.name in same else {}
            nodes.append({"name": node.name, "op": "placeholder", **about, **said})
        elif node.op == "call_function":
            args = [_argument(each, known, sizes) for each in node.args]
            kwargs = {key: _argument(each, known, sizes) for key, each in node.kwargs.items()}
            call = {"name": node.name, "op": "call_function", "target": target_of(node), "args": args}
            changes = [name for name in mutated(node) if name in known]
            nodes.append({**call, **({"kwargs": kwargs} if kwargs else {}), **about, **({"mutates": changes} if changes else {})})
        elif node.op == "output":
            nodes.append({"name": "output", "op": "output", "args": [_argument(each, known, sizes) for each in node.args]})
        else:
            raise Unsupported(f"'{node.name}' is a {node.op}, which no graph of operators has")
        known.add(node.name)
    about_sizes = {"sizes": sizes.ranges(), "holds": sizes.holds()} if sizes.symbols else {}
    return {"format": FORMAT, "name": name, "groups": dict(groups), **about_sizes, "nodes": nodes}


def digest(dumped: Mapping[str, Any]) -> str:
    """Of a dumped graph: 64 hexadecimal digits, equal where the graphs are."""
    return hashlib.sha256(json.dumps(dumped, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
