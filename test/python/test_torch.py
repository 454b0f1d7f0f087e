"""Surgery on graphs and regions' memory with PyTorch, without GPUs and ranks. Run as test_torch, with the compiler's command in COLLC_COMMAND."""

import json
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any

import torch
from torch._dynamo.source import ConstantSource
from torch._subclasses import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext

from collc import fx, surgery
from collc.compiler import find
from collc.partition import Step, _binding


class Surgery(unittest.TestCase):
    """An all_reduce of x, and y, which lies turned, added to it."""

    def graph(self, real: torch.Tensor, dynamic: bool) -> Any:
        mode = FakeTensorMode(shape_env=ShapeEnv())
        dims = [DimDynamic.STATIC, DimDynamic.DYNAMIC if dynamic else DimDynamic.STATIC]

        def fake(x: torch.Tensor, name: str) -> torch.Tensor:
            return mode.from_tensor(x, symbolic_context=StatelessSymbolicContext(dynamic_sizes=dims), source=ConstantSource(name))

        graph = torch.fx.Graph()
        x, y = graph.placeholder("x"), graph.placeholder("y")
        y.meta["val"] = fake(real, "y")
        x.meta["val"] = y.meta["val"].new_empty(y.meta["val"].shape)
        total = graph.call_function(torch.ops._c10d_functional.all_reduce.default, (x, "sum", "tp"))
        waited = graph.call_function(torch.ops._c10d_functional.wait_tensor.default, (total,))
        total.meta["val"] = waited.meta["val"] = x.meta["val"]
        result = graph.call_function(torch.ops.aten.add.Tensor, (waited, y))
        result.meta["val"] = x.meta["val"]
        graph.output((result,))
        return graph

    def orders(self, columns: int, dynamic: bool) -> Any:
        """The step's binding of y, and its shape where the graph has `columns`."""
        real = torch.arange(8.0 * columns).view(columns, 8).t()
        graph = self.graph(real, dynamic)
        dumped = fx.dump(graph, {"tp": 2})
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "graph.json")
            path.write_text(json.dumps(dumped))
            said = subprocess.run([*find(), "lower", str(path), "--ranks", "2", "--fuse", "legal", "--json"], capture_output=True, text=True, check=True)
        about = json.loads(said.stdout)
        (part,) = about["parts"]
        inputs, outputs = ([_binding(b) for b in part[kind]] for kind in ("inputs", "outputs"))
        step = Step(0, "p", tuple(part["nodes"]), inputs, outputs, part["dims"], part["guards"], 0, 0)
        nodes = {node.name: node for node in graph.nodes}
        sizes = fx.Sizes(graph)
        self.assertEqual(surgery.problem_of(step, nodes, sizes, about["at"]), "")
        (turned,) = (b for b in inputs if b.node == "y")
        self.assertEqual(turned.shape_at({"n0": columns}), (columns, 8))
        # Memory as it lies, given back as what the graph has.
        permuted = surgery.instead(step, nodes, sizes)
        self.assertEqual(turned.order, [1, 0])
        module = next(cell.cell_contents for cell in permuted.__closure__ if isinstance(cell.cell_contents, torch.fx.GraphModule))
        place = next(node for node in module.graph.nodes if node.target is torch.ops.aten.permute.default)
        torch.testing.assert_close(place.target(real.permute(turned.order).contiguous(), place.args[1]), real)

    def test_memory_order(self) -> None:
        self.orders(6, False)

    def test_memory_order_of_a_square_tensor(self) -> None:
        self.orders(8, False)

    def test_memory_order_with_sizes(self) -> None:
        self.orders(12, True)

    def test_memory_order_of_what_is_square_at_the_hint(self) -> None:
        self.orders(8, True)


if __name__ == "__main__":
    unittest.main()
