"""Surgery on graphs and regions' memory with PyTorch, without GPUs and ranks. Run as test_torch, with the compiler's command in COLLC_COMMAND."""

import ctypes
import gc
import json
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from torch._dynamo.source import ConstantSource
from torch._subclasses import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext

from collc import dlpack, fx, regions, surgery
from collc.compiler import find
from collc.dlpack import DeviceTensor, from_dlpack
from collc.errors import DeviceError, FileError
from collc.partition import Binding, Partition, Step, _binding
from collc.regions import Region


class Partitions(unittest.TestCase):
    def test_that_lack_files(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            about = {"report": "", "at": {}, "copy": {"seconds": 0, "bytesPerSecond": 1}, "parts": []}
            Path(folder, "partition.json").write_text(json.dumps(about))
            Path(folder, "measured.json").write_text("{}")
            with self.assertRaisesRegex(FileError, "holds no partition"):
                Partition(Path(folder))


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


class Dlpack(unittest.TestCase):
    """Memory of the host, which PyTorch for CPUs takes."""

    def test_torch_takes_tensors_of_collc(self) -> None:
        memory = (ctypes.c_float * 12)(*range(12))
        at = ctypes.addressof(memory)
        given = DeviceTensor(at, (3, 4), "f32", owner=memory, kind=1)
        taken = torch.from_dlpack(given)
        self.assertEqual((taken.tolist(), taken.data_ptr()), ([[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]], at))
        taken[1, 2] = 60
        self.assertEqual(memory[6], 60)
        turned = torch.from_dlpack(DeviceTensor(at, (4, 3), "bf16", strides=(1, 4), kind=1))
        self.assertEqual((turned.shape, turned.stride(), turned.dtype), ((4, 3), (1, 4), torch.bfloat16))
        count = len(dlpack._given)
        del taken, turned
        gc.collect()
        self.assertEqual(len(dlpack._given), count - 2)

    def test_and_collc_takes_those_of_torch_on_gpus(self) -> None:
        x = torch.arange(6.0).view(2, 3).t()
        with self.assertRaisesRegex(DeviceError, "no GPU of CUDA: move it there first"):
            from_dlpack(x)
        with mock.patch.object(torch.Tensor, "__dlpack_device__", lambda self: (2, 0)), mock.patch.object(dlpack, "_LEGACY_STREAM", None):
            there = from_dlpack(x)
        self.assertEqual((there.shape, there.strides, there.dtype, there.pointer), ((3, 2), (1, 3), "f32", x.data_ptr()))


class Memory:
    """Of the CPU, one rank; what was given back is remembered."""

    device, rank, world = torch.device("cpu"), 0, 2

    def __init__(self) -> None:
        self.gpu = object()
        self.released: list[torch.Tensor] = []

    def meet(self) -> None: ...

    def allocate(self, count: int) -> torch.Tensor:
        made = torch.zeros(count + 256, dtype=torch.uint8)
        return made[-made.data_ptr() % 256 :][:count]

    def release(self, tensor: torch.Tensor) -> None:
        self.released.append(tensor)

    def pointers(self, tensor: torch.Tensor) -> Any:
        return [tensor.data_ptr()] * 2 if tensor.data_ptr() else None


class Program:
    """Notes the addresses that it is launched with."""

    name, fingerprint, symmetric_bytes = "p", b"", 0

    def __init__(self) -> None:
        self.programs = [self]
        self.addresses: dict[str, Any] = {}

    def load(self, gpu: Any, **_: Any) -> "Program":
        return self

    def fits(self, dims: Any) -> bool:
        return True

    def reserve(self, shapes: Any) -> None: ...
    def attach(self, pointers: Any) -> None: ...
    def reset(self, stream: Any) -> None: ...
    def launch(self, stream: Any) -> None: ...

    def prepare(self, dims: Any, addresses: dict[str, Any]) -> "Program":
        self.addresses = addresses
        return self


class Stream:
    cuda_stream = 0


class Regions(unittest.TestCase):
    """A region of one step, with tensors of its own in symmetric memory: `falls` of 1024 - s0 numbers, `grows` of s0."""

    def setUp(self) -> None:
        self.capturing = False
        for target, name, made in (
            (regions, "open_artifacts", lambda folder: self.program),
            (torch.cuda, "is_current_stream_capturing", lambda: self.capturing),
            (torch.cuda, "current_stream", lambda device=None, only=Stream(): only),
            (torch.cuda, "synchronize", lambda device=None: None),
        ):
            patched = mock.patch.object(target, name, made)
            patched.start()
            self.addCleanup(patched.stop)
        self.program, self.memory = Program(), Memory()

    def region(self, at: int, most_bytes: Any = None) -> Region:
        extents = {"falls": {"op": "sub", "a": 1024, "b": "s0"}, "grows": "s0"}
        bindings = [Binding(name, name, (extent,), torch.float32, True, (extent,)) for name, extent in extents.items()]
        guards = [{"left": "s0", "relation": "le", "right": 1024, "reason": "it is for no more"}]
        step = Step(0, "p", ("n",), bindings[:1], bindings[1:], {"s0": "s0"}, guards, 0, 0)
        step.instead = lambda given, sizes: [torch.full((sizes["s0"],), 7.0)]
        partition = type("Partition", (), {"folder": None, "at": {"s0": at}})()
        region = Region(partition, [step], self.memory, timeout=1.0, most_bytes=most_bytes)
        for binding in bindings:
            binding.slot = region.own_slot(binding)
        bindings[1].stays = True
        region.attach()
        return region

    def test_room_for_lengths_that_fall_where_sizes_grow(self) -> None:
        region = self.region(1000)
        for size in (300, 100, 1000, 700):
            self.assertIsNone(region.refusal((size,)))
            falls, grows = (region.tensor_at(slot, (size,)) for slot in region.slots)
            falls.fill_(1)
            grows.fill_(2)
            self.assertEqual((falls.shape, grows.shape), ((1024 - size,), (size,)))
            self.assertTrue(bool((falls == 1).all()), f"tensors of {size} overlap")
        # Room that there was stays: nothing moves for what has run.
        count = len(self.memory.released)
        for size in (300, 100, 1000, 700):
            self.assertIsNone(region.refusal((size,)))
        self.assertEqual(len(self.memory.released), count)

    def test_refusals_are_of_the_memory_that_there_is(self) -> None:
        region = self.region(500, most_bytes=6000)
        # Beside what it has, there is no room for the one; and still none when it is asked again.
        self.assertRegex(region.refusal((10,)) or "", "s0=10: it takes more than the 6000 bytes")
        self.assertRegex(region.refusal((10,)) or "", "more than")
        count = len(self.memory.released)
        self.assertRegex(region.refusal((10,)) or "", "more than")
        self.assertEqual(len(self.memory.released), count)
        self.assertIsNone(region.refusal((500,)))

    def test_memory_that_a_cuda_graph_has_stays(self) -> None:
        for name in ("run", "product"):
            with self.subTest(name):
                self.memory.released.clear()
                region = self.region(64)
                self.assertIsNone(region.refusal((128,)))
                count = len(self.memory.released)
                self.capturing = True
                if name == "run":
                    region.run(0, [torch.zeros(1024 - 64)], (64,))
                else:
                    regions.regions["captured"] = region
                    self.addCleanup(regions.regions.pop, "captured")
                    a, b = torch.ones(64, 2), torch.ones(2, 1)
                    region.slots[1].binding.shape = ("s0", 1)
                    torch.ops.collc.product_into.default(None, a, b, [64], "captured", 1)
                self.capturing = False
                place = region.tensor_at(region.slots[1], (64,)).data_ptr()
                self.assertRegex(region.refusal((900,)) or "", "s0=900: there is no room, and none is made since a CUDA graph was captured")
                torch.testing.assert_close(region.run(0, [torch.zeros(124)], (900,))[0], torch.full((900,), 7.0))
                self.assertEqual(len(self.memory.released), count)
                self.assertEqual(region.tensor_at(region.slots[1], (64,)).data_ptr(), place)
                (said,) = region.left
                self.assertIn("run it once before", said)

    def test_tensors_without_elements(self) -> None:
        region = self.region(1024)
        (out,) = region.run(0, [torch.zeros(0)], (1024,))
        self.assertEqual(out.shape, (1024,))
        self.assertEqual((self.program.addresses["falls"], self.program.addresses["grows"]), ([0, 0], [out.data_ptr()] * 2))
        (out,) = region.run(0, [torch.zeros(1024)], (0,))
        self.assertEqual((out.shape, self.program.addresses["grows"]), ((0,), [0, 0]))


if __name__ == "__main__":
    unittest.main()
