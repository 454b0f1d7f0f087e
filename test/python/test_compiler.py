"""Dumps of FX graphs, and calls of the compiler, without PyTorch: with nodes that look like its, and a command that counts. Run as test_collc."""

import json
import os
import stat
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any

import collc
from collc import fx
from collc.compiler import Compiler, NoCompiler, Refused, find


class Tensor:
    def __init__(self, shape: tuple, dtype: str = "torch.bfloat16", strides: Any = None) -> None:
        self.shape, self.dtype, self.strides = shape, dtype, strides

    def stride(self) -> tuple:
        return self.strides or fx.row_major(self.shape)


class Node:
    def __init__(self, op: str, name: str, target: Any = None, args: tuple = (), val: Any = None, **kwargs: Any) -> None:
        self.op, self.name, self.target, self.args, self.kwargs = op, name, target or name, args, kwargs
        self.meta = {} if val is None else {"val": val}
        self.all_input_nodes = [a for a in args if isinstance(a, Node)]


class Graph:
    def __init__(self, *nodes: Node) -> None:
        self.nodes = nodes


class device:
    type = "cuda"

    def __str__(self) -> str:
        return "cuda:1"


class Expression:
    """As much of sympy as dumps look at."""

    is_Symbol = is_Integer = False

    def __init__(self, *args: Any) -> None:
        self.args = args

    @property
    def free_symbols(self) -> set:
        return set().union(*(a.free_symbols for a in self.args))

    def __neg__(self) -> "Expression":
        factor, *rest = self.args
        return Mul(-factor, *rest)

    def __str__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(str, self.args))})"


class Symbol(Expression):
    is_Symbol = True

    @property
    def free_symbols(self) -> set:
        return {self}

    def __str__(self) -> str:
        return str(self.args[0])


class Integer(Expression):
    is_Integer, free_symbols = True, frozenset()

    def __int__(self) -> int:
        return int(self.args[0])

    def __eq__(self, other: object) -> bool:
        return int(self) == other

    def __neg__(self) -> "Integer":
        return Integer(-int(self))


class Add(Expression): ...  # noqa: E701
class Mul(Expression): ...  # noqa: E701
class FloorDiv(Expression): ...  # noqa: E701
class Mod(Expression): ...  # noqa: E701
class Equality(Expression): ...  # noqa: E701
class Max(Expression): ...  # noqa: E701
class TruncToInt(Expression): ...  # noqa: E701


class Range:
    def __init__(self, lower: Any, upper: Any) -> None:
        self.lower, self.upper = lower, upper


class Guard:
    def __init__(self, expr: Expression) -> None:
        self.expr = expr


class Environment:
    def __init__(self, hint: int) -> None:
        self.s77, self.u0 = Symbol("s77"), Symbol("u0")
        self.var_to_range = {self.s77: Range(Integer(2), float("inf")), self.u0: Range(0, 64)}
        self.var_to_val = {self.s77: hint}
        self.guards = [
            Guard(Equality(Mod(self.s77, Integer(4)), Integer(0))),
            Guard(Equality(Mod(self.s77, Integer(4)), Integer(0))),
            Guard(Equality(self.s77, Integer(8))),
        ]


class SymInt:
    def __init__(self, expr: Expression, env: Environment) -> None:
        self.node = type("SymNode", (), {"expr": expr, "shape_env": env})()


def dynamic(hint: int = 12) -> Graph:
    env = Environment(hint)
    n, size = env.s77, lambda e: SymInt(e, env)
    half = FloorDiv(n, Integer(2))
    count = Node("placeholder", "count", val=size(n))
    n0 = Node("placeholder", "n0", val=Tensor((size(n), 8), strides=(8, 1)))
    turned = Node("placeholder", "turned", val=Tensor((8, size(n)), strides=(1, 8)))
    loose = Node("placeholder", "loose", val=Tensor((size(n), size(env.u0)), strides=(size(Max(Integer(1), env.u0)), 1)))
    div = Node("call_function", "div", "floordiv", (count, 2), size(half))
    less = Node("call_function", "less", "sub", (count, 3), size(Add(Integer(-3), n)))
    two = Node("call_function", "two", "int", (count,), size(Integer(2)))
    part = Node("call_function", "part", "aten.slice.Tensor", (n0, 0, less, div), Tensor((size(Add(half, Mul(Integer(-1), n))), 8), strides=(8, 1)), by=two)
    return Graph(count, n0, turned, loose, div, less, two, part, Node("output", "output", args=((part, div),)))


def gathered() -> Graph:
    x = Node("placeholder", "x", val=Tensor((4, 8)))
    w = Node("placeholder", "w", val=Tensor((8, 6), strides=(1, 8)))
    seed = Node("placeholder", "seed")
    all_of_it = Node("call_function", "all", "_c10d_functional.all_gather_into_tensor.default", (x, 2, "7"), Tensor((8, 8)))
    wait = Node("call_function", "wait", "_c10d_functional.wait_tensor.default", (all_of_it,), Tensor((8, 8)))
    mm = Node("call_function", "mm", "aten.mm.default", (wait, w), Tensor((8, 6)), device=device(), fill=float("-inf"), of=[seed, None, 1.5])
    parts = Node("call_function", "parts", "aten.split.Tensor", (mm, 4))
    part = Node("call_function", "part", Tensor.stride.__class__, (parts, 0), Tensor((4, 6)))
    part.target = __import__("operator").getitem
    return Graph(x, w, seed, all_of_it, wait, mm, parts, part, Node("output", "output", args=((part, mm),)))


class Dumps(unittest.TestCase):
    def test_has_what_collc_reads(self) -> None:
        dumped = fx.dump(gathered(), {"7": 2}, replicated=["w"])
        nodes = {node["name"]: node for node in dumped["nodes"]}
        self.assertEqual((dumped["format"], dumped["groups"]), ("collc-fx-1", {"7": 2}))
        self.assertEqual(nodes["x"], {"name": "x", "op": "placeholder", "shape": [4, 8], "dtype": "torch.bfloat16"})
        self.assertEqual((nodes["w"]["strides"], nodes["w"]["replicated"]), ([1, 8], True))
        self.assertNotIn("seed", nodes)
        self.assertEqual(nodes["all"]["args"], [{"node": "x"}, 2, "7"])
        # JSON has no infinity, ranks have several GPUs, and what is no tensor has no name.
        self.assertEqual(nodes["mm"]["kwargs"], {"device": "cuda", "fill": "-inf", "of": ["<seed>", None, 1.5]})
        self.assertNotIn("shape", nodes["parts"])
        self.assertEqual((nodes["part"]["target"], nodes["part"]["args"]), ("getitem", [{"node": "parts"}, 0]))
        self.assertEqual(dumped["nodes"][-1]["args"], [[{"node": "part"}, {"node": "mm"}]])
        json.loads(json.dumps(dumped, allow_nan=False))

    def test_digests_are_of_what_it_says(self) -> None:
        one, other = fx.dump(gathered(), {"7": 2}), fx.dump(gathered(), {"7": 2})
        self.assertEqual(fx.digest(one), fx.digest(other))
        other["nodes"][0]["shape"] = [4, 9]
        self.assertNotEqual(fx.digest(one), fx.digest(other))

    def test_names_sizes_that_only_a_launch_knows(self) -> None:
        dumped = fx.dump(dynamic(), {"7": 2})
        # Not a node's name, nor torch's.
        self.assertEqual(dumped["sizes"], {"n0_": {"min": 2, "hint": 16}, "n1": {"min": 0, "max": 64}})
        self.assertEqual(dumped["holds"], [{"left": {"op": "mod", "a": "n0_", "b": 4}, "relation": "eq", "right": 0}])
        nodes = {node["name"]: node for node in dumped["nodes"]}
        self.assertEqual(list(nodes), ["n0", "turned", "loose", "part", "output"])
        self.assertEqual((nodes["n0"]["shape"], nodes["turned"]["strides"]), (["n0_", 8], [1, 8]))
        self.assertNotIn("strides", nodes["n0"])
        self.assertNotIn("strides", nodes["loose"])
        half = {"op": "div", "a": "n0_", "b": 2}
        self.assertEqual(nodes["part"]["args"], [{"node": "n0"}, 0, {"size": {"op": "sub", "a": "n0_", "b": 3}}, {"size": half}])
        self.assertEqual(nodes["part"]["kwargs"], {"by": 2})
        self.assertEqual(nodes["part"]["shape"][0], {"op": "sub", "a": half, "b": {"op": "mul", "a": 1, "b": "n0_"}})
        self.assertEqual(nodes["output"]["args"], [[{"node": "part"}, {"size": half}]])
        json.loads(json.dumps(dumped, allow_nan=False))

    def test_digests_are_of_graphs_and_not_of_sizes(self) -> None:
        dumps = [fx.dump(dynamic(hint), {"7": 2}) for hint in (9, 12, 16, 17, 40)]
        # One digest is one dump, so that what is compiled is of the digest alone.
        self.assertEqual((dumps[0], dumps[1]), (dumps[2], dumps[2]))
        self.assertEqual([dump["sizes"]["n0_"]["hint"] for dump in dumps], [16, 16, 16, 32, 64])
        self.assertEqual(len(set(map(fx.digest, dumps))), 3)

    def test_hints_keep_to_limits_and_guards(self) -> None:
        def hints(lower: int, upper: Any, divisor: int, *hints: int) -> list:
            def hint(value: int) -> int:
                graph = dynamic(value)
                env = graph.nodes[0].meta["val"].node.shape_env
                env.var_to_range[env.s77] = Range(Integer(lower), upper)
                env.guards = [Guard(Equality(Mod(env.s77, Integer(divisor)), Integer(0)))]
                return fx.dump(graph, {"7": 2})["sizes"]["n0_"]["hint"]

            return [hint(value) for value in hints]

        self.assertEqual(hints(0, float("inf"), 4, 0, 4, 900), [0, 4, 1024])
        self.assertEqual(hints(2, Integer(1000), 4, 600, 1000), [1000, 1000])
        self.assertEqual(hints(12, float("inf"), 4, 12), [16])
        # No power of two is a multiple of 3.
        self.assertEqual(hints(2, float("inf"), 3, 9, 12), [9, 12])

    def test_refuses_lengths_that_it_has_no_words_for(self) -> None:
        env = Environment(8)
        graph = Graph(Node("placeholder", "x", val=Tensor((SymInt(TruncToInt(env.s77), env), 8), strides=(8, 1))))
        with self.assertRaisesRegex(fx.Unsupported, r"a length is TruncToInt\(s77\), for which collc has no words"):
            fx.dump(graph, {})

    def test_finds_collectives_and_their_groups(self) -> None:
        self.assertEqual([(n.name, fx.group_of(n)) for n in fx.collectives(gathered())], [("all", "7")])
        x = Node("placeholder", "x", val=Tensor((4, 8)))
        named = Node("call_function", "sum", "_c10d_functional.all_reduce.default", (x,), group_name="7", reduce_op="max")
        self.assertEqual(fx.group_of(named), "7")

    def test_says_what_operators_of_other_libraries_change(self) -> None:
        class Parameter:
            def __init__(self, name: str, writes: bool) -> None:
                self.name = name
                self.alias_info = type("Alias", (), {"is_write": True})() if writes else None

        class Operator:
            def __init__(self, name: str, *parameters: Parameter) -> None:
                self.name, self._schema = name, type("Schema", (), {"arguments": parameters})()

            def __str__(self) -> str:
                return self.name

        x, cache = (Node("placeholder", name, val=Tensor((4, 8))) for name in ("x", "cache"))
        store = Operator("mine.store.default", Parameter("x", False), Parameter("cache", True))
        calls = (Node("call_function", "stored", store, (x, cache)), Node("call_function", "again", store, (x,), cache=cache))
        copy = Node("call_function", "copied", Operator("aten.copy_.default", Parameter("self", True), Parameter("src", False)), (cache, x))
        dumped = fx.dump(Graph(x, cache, *calls, copy), {})["nodes"]
        self.assertEqual([node.get("mutates") for node in dumped], [None, None, ["cache"], ["cache"], None])


COMMAND = """#!{python}
import json, os, sys
if sys.argv[1] == "--version":
    print("1.2.3")
else:
    with open({calls!r}, "a") as file:
        print(json.dumps(sys.argv[1:]), file=file)
    with open(sys.argv[2]) as file:
        graph = json.load(file)
    if graph["name"] == "bad":
        sys.exit("error: it is bad")
    out = sys.argv[sys.argv.index("--build") + 1]
    os.mkdir(out)
    with open(os.path.join(out, "partition.json"), "w") as file:
        file.write(graph["name"])
"""


class TheCompiler(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.calls = Path(folder.name, "calls")
        self.home = Path(folder.name, "cache")
        self.cache = self.home / "regions"
        self.command = Path(folder.name, "collc")
        self.write(COMMAND.format(python=sys.executable, calls=str(self.calls)))

    def write(self, text: str) -> None:
        self.command.write_text(text)
        self.command.chmod(self.command.stat().st_mode | stat.S_IXUSR)

    def lower(self, name: str, **options: Any) -> Path:
        return Compiler([str(self.command)], self.home).lower({"name": name}, ranks=2, arch="sm_90a", **options)

    def test_is_called_once_for_a_graph(self) -> None:
        first = self.lower("one", measured={"mm": 1e-6})
        self.assertEqual((first / "partition.json").read_text(), "one")
        self.assertEqual(json.loads((first / "measured.json").read_text()), {"mm": 1e-6})
        self.assertEqual(self.lower("one"), first)
        self.assertNotEqual(self.lower("two"), first)
        calls = [json.loads(line) for line in self.calls.read_text().splitlines()]
        self.assertEqual([call[0] for call in calls], ["lower", "lower"])
        self.assertEqual([("--measured" in call, "--caller" in call) for call in calls], [(True, True), (False, True)])
        # Nothing half-made stays.
        self.assertEqual(sorted(each.name for each in self.cache.iterdir()), sorted([first.name, self.lower("two").name]))

    def test_keeps_to_a_cap(self) -> None:
        before = os.environ.pop("COLLC_CACHE_MAX_MB", None)
        self.addCleanup(lambda: os.environ.pop("COLLC_CACHE_MAX_MB") if before is None else os.environ.update(COLLC_CACHE_MAX_MB=before))
        folders = [self.lower(name) for name in ("one", "two", "three")]
        for folder in folders:
            (folder / "cubin").write_bytes(b"0" * 400_000)
        hours = time.time() - 7200
        for folder, age in zip(folders, (30, 20, 10)):
            os.utime(folder, (hours - age, hours - age))
        os.environ["COLLC_CACHE_MAX_MB"] = "1"
        # What is asked for is no longer the one that was not used for the longest time.
        self.lower("one")
        fourth = self.lower("four")
        self.assertEqual({each for each in self.cache.iterdir()}, {folders[0], folders[2], fourth})
        # Whoever has just made it may be reading it.
        os.environ["COLLC_CACHE_MAX_MB"] = "0"
        fifth = self.lower("five")
        self.assertEqual({each for each in self.cache.iterdir()}, {folders[0], fourth, fifth})

    def test_removes_only_what_it_has_made(self) -> None:
        before = os.environ.pop("COLLC_CACHE_MAX_MB", None)
        self.addCleanup(lambda: os.environ.pop("COLLC_CACHE_MAX_MB") if before is None else os.environ.update(COLLC_CACHE_MAX_MB=before))
        first = self.lower("one")
        old = time.time() - 7200
        elsewhere = self.home.parent / "elsewhere"
        key = "0123456789abcdef" * 2
        mine = [self.home / "thesis", self.cache / "thesis", elsewhere, self.cache / f"{key}0", self.cache / f"{key}.a b"]
        left = self.cache / f"{key}.half_made"
        for folder in (*mine, left):
            folder.mkdir()
            (folder / "a").write_bytes(b"x")
        (self.cache / "1").write_bytes(b"x")
        (self.cache / key).symlink_to(elsewhere)
        for folder in (*mine, left, first, self.cache / "1"):
            os.utime(folder, (old, old))
        os.environ["COLLC_CACHE_MAX_MB"] = "0"
        self.lower("two")
        self.assertFalse(first.exists() or left.exists())
        self.assertTrue(all((folder / "a").exists() for folder in mine))
        self.assertTrue((self.cache / key).is_symlink() and (self.cache / "1").exists())
        # Nothing lies there by another name.
        self.assertEqual(len(list(self.cache.iterdir())), 6)

    def test_makes_anew_what_is_not_whole(self) -> None:
        first = self.lower("one")
        for number, name in enumerate(("partition.json", "measured.json", "files.json")):
            (first / name).unlink()
            self.assertEqual(self.lower("one"), first)
            self.assertEqual((first / "partition.json").read_text(), "one")
            self.assertTrue((first / name).exists())
            self.assertEqual(len(self.calls.read_text().splitlines()), number + 2)
        (first / "partition.json").write_text("")
        self.lower("one")
        self.assertEqual((first / "partition.json").read_text(), "one")
        self.assertEqual(list(self.cache.iterdir()), [first])

    def test_says_that_the_cache_cannot_be_written(self) -> None:
        self.home.write_text("a file")
        with self.assertRaisesRegex(collc.CollcError, "cannot be written: .*COLLC_CACHE_DIR"):
            self.lower("one")

    def test_another_compiler_another_partition(self) -> None:
        first = self.lower("one")
        self.write(self.command.read_text().replace("1.2.3", "1.2.4"))
        self.assertNotEqual(self.lower("one"), first)

    def test_says_what_the_compiler_says(self) -> None:
        with self.assertRaisesRegex(Refused, "ends with 1: error: it is bad"):
            self.lower("bad")
        self.assertEqual(list(self.cache.iterdir()), [])
        with self.assertRaisesRegex(Refused, "writes no partition"):
            Compiler(["/bin/true"], self.home).lower({"name": "one"}, ranks=2, arch="sm_90a")

    def test_says_that_there_is_none(self) -> None:
        with self.assertRaisesRegex(NoCompiler, "does not start"):
            Compiler(["/nowhere/collc"], self.home).lower({"name": "one"}, ranks=2, arch="sm_90a")
        before = os.environ.pop("COLLC_COMMAND", None)
        try:
            os.environ["COLLC_COMMAND"] = "my collc --flag"
            self.assertEqual(find(), ["my", "collc", "--flag"])
        finally:
            os.environ.pop("COLLC_COMMAND")
            if before is not None:
                os.environ["COLLC_COMMAND"] = before

    def test_is_a_collc_error(self) -> None:
        self.assertTrue(issubclass(NoCompiler, collc.CollcError) and issubclass(Refused, collc.CollcError))


if __name__ == "__main__":
    unittest.main()
