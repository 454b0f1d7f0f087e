"""Dumps of FX graphs, and calls of the compiler, without PyTorch: with nodes that look like its, and a command that counts. Run as test_collc."""

import json
import os
import stat
import sys
import tempfile
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


class SymInt:
    pass


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

    def test_refuses_sizes_that_are_no_numbers(self) -> None:
        graph = Graph(Node("placeholder", "x", val=Tensor((SymInt(), 8), strides=(8, 1))))
        with self.assertRaisesRegex(fx.Unsupported, "'x' has sizes that only the launch knows: compile with dynamic=False"):
            fx.dump(graph, {})

    def test_finds_collectives_and_their_groups(self) -> None:
        self.assertEqual([(n.name, fx.group_of(n)) for n in fx.collectives(gathered())], [("all", "7")])

    def test_memory_order(self) -> None:
        self.assertEqual(fx.memory_order((8, 6), (1, 8)), [1, 0])
        self.assertEqual(fx.memory_order((1, 2, 3), (0, 3, 1)), [0, 1, 2])
        self.assertEqual(fx.memory_order((2, 1, 4, 8), (32, 99, 1, 4)), [0, 1, 3, 2])


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
        self.cache = Path(folder.name, "cache")
        self.command = Path(folder.name, "collc")
        self.write(COMMAND.format(python=sys.executable, calls=str(self.calls)))

    def write(self, text: str) -> None:
        self.command.write_text(text)
        self.command.chmod(self.command.stat().st_mode | stat.S_IXUSR)

    def lower(self, name: str, **options: Any) -> Path:
        return Compiler([str(self.command)], self.cache).lower({"name": name}, ranks=2, arch="sm_90a", **options)

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

    def test_another_compiler_another_partition(self) -> None:
        first = self.lower("one")
        self.write(self.command.read_text().replace("1.2.3", "1.2.4"))
        self.assertNotEqual(self.lower("one"), first)

    def test_says_what_the_compiler_says(self) -> None:
        with self.assertRaisesRegex(Refused, "ends with 1: error: it is bad"):
            self.lower("bad")
        self.assertEqual(list(self.cache.iterdir()), [])

    def test_says_that_there_is_none(self) -> None:
        with self.assertRaisesRegex(NoCompiler, "does not start"):
            Compiler(["/nowhere/collc"], self.cache).lower({"name": "one"}, ranks=2, arch="sm_90a")
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
