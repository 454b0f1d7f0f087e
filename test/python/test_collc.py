"""The package without PyTorch and without a GPU, against the fake driver. Run by test/python/python.test.ts with COLLC_TEST_* set."""

import ctypes
import gc
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import weakref
from pathlib import Path

import collc
from collc import dlpack
from collc.artifacts import evaluate
from collc.gpu import Driver

FOLDER = os.environ["COLLC_TEST_ARTIFACTS"]
LIBCUDA = os.environ["COLLC_TEST_LIBCUDA"]
LOG = os.environ["FAKE_CUDA_LOG"]


def launches() -> list:
    return [json.loads(line) for line in Path(LOG).read_text().splitlines()] if os.path.exists(LOG) else []


class Extents(unittest.TestCase):
    def test_operations_round_down(self) -> None:
        def of(op: str, a: int, b: int) -> int:
            return evaluate({"op": op, "a": "n", "b": b}, {"n": a})

        self.assertEqual([of("add", 7, 3), of("sub", 7, 3), of("mul", 7, 3)], [10, 4, 21])
        self.assertEqual([of("div", 7, 3), of("div", -7, 3), of("ceildiv", 7, 3), of("mod", -7, 3)], [2, -3, 3, 2])
        self.assertEqual([of("min", 7, 3), of("max", 7, 3)], [3, 7])


class TheFolder(unittest.TestCase):
    def test_finds_programs_by_path_ranks_and_dtypes(self) -> None:
        artifacts = collc.open(FOLDER)
        self.assertEqual(artifacts.find("all_reduce/one_shot", ranks=2, dtypes={"T": "f32"}).name, "coll_one_shot_of_all_reduce_w2_f32")
        self.assertEqual(artifacts.find("all_reduce", ranks=2).path, "all_reduce")
        with self.assertRaisesRegex(collc.FileError, "has no all_reduce for 3 ranks; it has coll_"):
            artifacts.find("all_reduce", ranks=3)

    def test_takes_programs_that_send_no_messages_first(self) -> None:
        artifacts = collc.open(FOLDER)
        both = [program for program in artifacts.programs if program.path == "all_reduce" and program.ranks == 2 and program.dtypes == {"T": "f32"}]
        self.assertEqual([program.ranks_per_domain for program in both], [1, None])
        self.assertIsNone(artifacts.find("all_reduce", ranks=2, dtypes={"T": "f32"}).ranks_per_domain)
        self.assertEqual(artifacts.find(both[0].name, ranks=2).ranks_per_domain, 1)

    def test_says_what_is_wrong_with_a_folder(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaisesRegex(collc.FileError, "cannot be read.*collc build -o"):
                collc.open(folder)
            for text, message in [("{", "is no JSON"), ('{"formatVersion": 3}', "is of format 3, and this package reads 8"), ('{"formatVersion": 8}', "damaged")]:
                Path(folder, "manifest.json").write_text(text)
                with self.assertRaisesRegex(collc.FileError, message):
                    collc.open(folder)

    def test_takes_the_most_special_code_that_runs(self) -> None:
        program = collc.open(FOLDER).find("all_reduce/one_shot", ranks=2, dtypes={"T": "f32"})
        found = {cc: program.target_for(*cc) for cc in [(7, 5), (8, 0), (8, 9), (9, 0), (10, 0)]}
        self.assertEqual({cc: t and t.arch for cc, t in found.items()}, {(7, 5): None, (8, 0): "sm_80", (8, 9): "sm_80", (9, 0): "sm_90a", (10, 0): None})

    def test_checks_dimensions(self) -> None:
        program = collc.open(FOLDER).find("reduce_scatter/pull", ranks=2)
        program.check({"n": 8})
        with self.assertRaisesRegex(collc.RequirementError, r"is not for n=7: \(n % 2\) == 0 must hold, because"):
            program.check({"n": 7})
        for dims in [{"n": -1}, {"n": 1 << 60}, {"n": True}, {"m": 8}, {}]:
            with self.assertRaises(collc.RequirementError):
                program.check(dims)


class OneRank(unittest.TestCase):
    """Loading and launching on one GPU, whose peers are addresses alone."""

    def setUp(self) -> None:
        self.gpu = collc.Gpu(0, driver=Driver(LIBCUDA))
        self.artifacts = collc.open(FOLDER)

    def load(self, path: str, dims: dict, **options: object) -> collc.LoadedProgram:
        loaded = self.artifacts.find(path, ranks=2).load(self.gpu, rank=0, shapes=[dims], **{"max_blocks": 16, **options})
        self.addCleanup(loaded.close)
        return loaded

    def test_launches_what_the_plan_has(self) -> None:
        loaded = self.load("all_reduce", {"n": 1 << 22})
        _, memory = self.gpu.allocate_host(loaded.symmetric_bytes + 128)
        memory += -memory % 128
        loaded.attach([memory, memory])
        loaded.reset()
        before = len(launches())
        sizes = [64, 1000, 40_000, 400_000, (1 << 22) - 5]
        for n in sizes:
            loaded.launch({"n": n}, {"x": [4096, 8192], "y": [4096, 8192]})
        wanted = []
        for n in sizes:
            for step in loaded.target.steps({"n": n}):
                kernel = loaded.target.kernels[step["kernel"]]
                work = max([1, *(evaluate(extent, {"n": n}) for extent in kernel.work)])
                wanted.append((kernel.symbol, min(work, step["maxBlocks"], 16), kernel.cooperative, kernel.early))
        found = launches()[before:]
        self.assertEqual([(l["launch"], l["grid"][0], l["cooperative"], l["early"]) for l in found], wanted)
        self.assertGreater(len({symbol for symbol, *_ in wanted}), 1)

    def test_packs_numbers_and_addresses_as_the_kernel_has_them(self) -> None:
        loaded = self.load("scaled", {"n": 64})
        _, memory = self.gpu.allocate_host(loaded.symmetric_bytes + 128)
        memory += -memory % 128
        loaded.attach([memory, memory])
        before = len(launches())
        loaded.launch({"n": 64}, {"x": [0x10000, 0x20000], "y": [0x30000, 0x40000]}, numbers={"eps": 0.5, "step": 7})
        (launched,) = launches()[before:]
        (kernel,) = [k for k in loaded.target.kernels if k.symbol == launched["launch"]]
        at = {(p["kind"], p.get("name", p.get("buffer"))): value for p, value in zip(kernel.parameters, launched["parameters"])}
        self.assertEqual(bytes.fromhex(at["scalar", "eps"]), struct.pack("<f", 0.5))
        self.assertEqual(bytes.fromhex(at["scalar", "step"]), struct.pack("<I", 7))
        self.assertEqual(bytes.fromhex(at["dim", "n"]), struct.pack("<q", 64))
        x = at.get(("peers", "x")) or at["pointer", "x"]
        self.assertEqual(bytes.fromhex(x)[:8], struct.pack("<Q", 0x10000))
        with self.assertRaisesRegex(collc.RequirementError, "takes the numbers eps, step"):
            loaded.launch({"n": 64}, {"x": [16, 16], "y": [16, 16]})

    def test_a_tensor_that_is_changed_in_place_is_one(self) -> None:
        loaded = self.load("in_place", {"n": 64})
        self.assertEqual([(t.name, t.is_output, t.is_symmetric) for t in loaded.program.tensors.values()], [("x", True, True)])
        loaded.attach([1 << 20, 1 << 21])
        before = len(launches())
        loaded.launch({"n": 64}, {"x": [0x10000, 0x20000]})
        (launched,) = launches()[before:]
        at = [p["kind"] == "peers" and p["buffer"] == "x" for p in loaded.target.kernels[0].parameters].index(True)
        self.assertEqual(bytes.fromhex(launched["parameters"][at]), struct.pack("<QQ", 0x10000, 0x20000))

    def test_describes_matrices_by_tensor_maps(self) -> None:
        dims = {"m": 256, "k": 128, "n": 32}
        loaded = self.load("matmul/reduce_scatter", dims)
        self.assertEqual(loaded.target.arch, "sm_90a")
        loaded.attach([1 << 20, 1 << 21])
        before = len(launches())
        loaded.launch(dims, {"a": 0x10000, "b": 0x20000, "c": 0x30000})
        loaded.launch(dims, {"a": 0x10002, "b": 0x20000, "c": 0x30000})
        # Of few elements, whose kernel is the first.
        kernel = loaded.target.kernels[0]
        maps = [i for i, p in enumerate(kernel.parameters) if p["kind"] == "tensor-map"]
        self.assertEqual([kernel.parameters[i]["buffer"] for i in maps], ["a", "a", "a", "b"])
        # Of few rows, fewer than a tile has are copied.
        a, fewest, few, b = (kernel.parameters[i] for i in maps)
        self.assertEqual([box["box"] for box in (a, fewest, few)], [[rows, a["box"][1]] for rows in (128, 16, 64)])

        def words(start: int, columns: int, box: list) -> bytes:
            # As the fake driver keeps them: address, type and rank, columns, box.
            return struct.pack("<QIIQII", start, 2, 9, columns, box[0], box[1]).ljust(128, b"\0")

        first, second = ([bytes.fromhex(l["parameters"][i]) for i in maps] for l in launches()[before:])
        self.assertEqual(first, [words(0x10000, 64, a["box"]), *(words(0x10000, 64, box["box"]) for box in (fewest, few)), words(0x20000, 32, b["box"])])
        # At an address that no map can describe it stays zero.
        self.assertEqual(second, [bytes(128)] * 3 + [first[3]])

    def test_refuses_what_does_not_fit(self) -> None:
        program = self.artifacts.find("all_reduce/one_shot", ranks=2, dtypes={"T": "f32"})
        with self.assertRaisesRegex(collc.RequirementError, "ranks 0 to 1, and 2"):
            program.load(self.gpu, rank=2, shapes=[{"n": 1}])
        with self.assertRaisesRegex(collc.RequirementError, "at least one of shapes"):
            program.load(self.gpu, rank=0, shapes=[])
        loaded = self.load("all_reduce", {"n": 1000})
        with self.assertRaisesRegex(collc.CollcError, "has no workspace"):
            loaded.launch({"n": 8}, {"x": [16, 16], "y": [16, 16]})
        with self.assertRaisesRegex(collc.RequirementError, "rank 1's workspace is not at a multiple of 128"):
            loaded.attach([1 << 20, 64])
        loaded.attach([1 << 20, 1 << 20])
        # Peers read its x, whatever ways the plan of all_reduce has.
        read = self.load("all_reduce/one_shot", {"n": 1000})
        read.attach([1 << 20, 1 << 20])
        for program, tensors, message in [
            (loaded, {"x": [16, 16]}, "has the tensors x, y; given are x"),
            (read, {"x": [16, 24], "y": [16, 16]}, "'x' is aligned differently on rank 0"),
            (loaded, {"x": [0, 16], "y": [16, 16]}, "'x' of rank 0 is at 0x0"),
            (loaded, {"x": [16], "y": [16, 16]}, "'x' has addresses of 1 ranks, not 2"),
            (read, {"x": 16, "y": [16, 16]}, "'x' must be symmetric"),
        ]:
            with self.assertRaisesRegex(collc.RequirementError, message):
                program.launch({"n": 8}, tensors)
        with self.assertRaisesRegex(collc.RequirementError, "no room for n=2000"):
            loaded.launch({"n": 2000}, {"x": [16, 16], "y": [16, 16]})

    def test_makes_room_for_larger_dimensions(self) -> None:
        loaded = self.load("all_reduce", {"n": 1000})
        before = loaded.symmetric_bytes
        self.assertEqual([loaded.fits({"n": n}) for n in (10, 1000, 400_000)], [True, True, False])
        loaded.reserve([{"n": 1000}, {"n": 400_000}])
        self.assertGreater(loaded.symmetric_bytes, before)
        self.assertTrue(loaded.fits({"n": 400_000}))
        # Its old workspace is none for it.
        with self.assertRaisesRegex(collc.CollcError, "has no workspace"):
            loaded.launch({"n": 1000}, {"x": [4096, 8192], "y": [4096, 8192]})
        _, memory = self.gpu.allocate_host(loaded.symmetric_bytes + 128)
        memory += -memory % 128
        loaded.attach([memory, memory])
        loaded.reset()
        count = len(launches())
        loaded.launch({"n": 400_000}, {"x": [4096, 8192], "y": [4096, 8192]})
        self.assertGreater(len(launches()), count)

    def test_checks_the_device(self) -> None:
        with self.assertRaisesRegex(collc.DeviceError, "there is no GPU 99"):
            collc.Gpu(99, driver=Driver(LIBCUDA))
        with self.assertRaisesRegex(collc.DriverError, "there is no NVIDIA driver here"):
            Driver("libcuda-of-nobody.so")
        cases = [
            ("75=12,76=0", collc.DeviceError, r"built for sm_80, sm_90a; GPU 0 is sm_120: build with --arch sm_120"),
            ("16=1", collc.DeviceError, r"up to 132 blocks .* holds 4 at once: set max_blocks to 4 on every rank, or build with --max-blocks 4"),
            ("95=0", collc.DeviceError, "cannot launch cooperatively"),
            ("1=256", collc.DeviceError, "blocks of 512 threads; GPU 0 allows 256"),
        ]
        program = self.artifacts.find("all_reduce/one_shot", ranks=2, dtypes={"T": "f32"})
        self.addCleanup(os.environ.__setitem__, "FAKE_CUDA_ATTRIBUTES", os.environ["FAKE_CUDA_ATTRIBUTES"])
        for attributes, kind, message in cases:
            os.environ["FAKE_CUDA_ATTRIBUTES"] = attributes
            with self.assertRaisesRegex(kind, message):
                program.load(self.gpu, rank=0, shapes=[{"n": 64}])
        os.environ["FAKE_CUDA_ATTRIBUTES"] = "16=132,97=101376"
        product = self.artifacts.find("matmul/reduce_scatter", ranks=2)
        with self.assertRaisesRegex(collc.DeviceError, r"needs \d+ bytes of shared memory a block; GPU 0 has 101376"):
            product.load(self.gpu, rank=0, shapes=[{name: 256 for name in product.dims}])

    def test_refuses_cubins_that_are_missing_or_others(self) -> None:
        with tempfile.TemporaryDirectory() as copy:
            shutil.copytree(FOLDER, copy, dirs_exist_ok=True)
            program = collc.open(copy).find("all_reduce/one_shot", ranks=2, dtypes={"T": "f32"})
            path = Path(copy, program.targets[1].kernels[0].cubin)
            path.write_bytes(path.read_bytes() + b"!")
            with self.assertRaisesRegex(collc.FileError, "is not the file that manifest.json is of"):
                program.load(self.gpu, rank=0, shapes=[{"n": 64}])
            path.unlink()
            with self.assertRaisesRegex(collc.FileError, "cannot be read"):
                program.load(self.gpu, rank=0, shapes=[{"n": 64}])

    def test_a_driver_that_refuses_leaves_nothing(self) -> None:
        program = self.artifacts.find("all_reduce/one_shot", ranks=2, dtypes={"T": "f32"})
        before = [self.gpu.attribute(9000 + kind) for kind in range(10)]
        for call in ["cuModuleLoadData", "cuModuleGetFunction", "cuMemAlloc", "cuMemHostAlloc", "cuMemHostGetDevicePointer"]:
            os.environ["FAKE_CUDA_FAIL"] = call
            try:
                with self.assertRaisesRegex(collc.DriverError, f"{call}: CUDA_ERROR_UNKNOWN") as caught:
                    program.load(self.gpu, rank=0, shapes=[{"n": 64}])
                self.assertEqual(caught.exception.code, 999)
            finally:
                os.environ["FAKE_CUDA_FAIL"] = ""
            self.assertEqual([self.gpu.attribute(9000 + kind) for kind in range(10)], before, call)


    def test_contexts_of_others_stay_as_they_are(self) -> None:
        loaded = self.load("all_reduce", {"n": 64})
        current, other = ctypes.c_void_p(), ctypes.c_void_p()
        self.gpu.driver("cuDevicePrimaryCtxRetain", ctypes.byref(other), 1)
        for context in (None, other.value):
            with self.subTest(context=context):
                self.gpu.driver("cuCtxSetCurrent", context)
                _, memory = self.gpu.allocate_host(loaded.symmetric_bytes + 128)
                memory += -memory % 128
                loaded.attach([memory, memory])
                loaded.reset()
                before = len(launches())
                loaded.launch({"n": 64}, {"x": [4096, 8192], "y": [4096, 8192]})
                self.gpu.synchronize()
                self.assertEqual(len(launches()), before + 1)
                self.gpu.driver("cuCtxGetCurrent", ctypes.byref(current))
                self.assertEqual(current.value, context)


class Dlpack(unittest.TestCase):
    """Tensors of others and for others: what stands for GPU memory here is the host's."""

    def setUp(self) -> None:
        self.memory = (ctypes.c_float * 12)(*range(12))
        self.address = ctypes.addressof(self.memory)

    def test_goes_out_and_comes_back_as_it_lies(self) -> None:
        for dtype in dlpack._TYPES:
            with self.subTest(dtype):
                for shape, strides in [((3, 4), None), ((4, 3), (1, 4)), ((), None), ((0, 5), None), ((2, 1, 3), None)]:
                    given = collc.DeviceTensor(self.address, shape, dtype, device=3, strides=strides)
                    back = collc.from_dlpack(given, stream=7)
                    self.assertEqual((back.shape, back.strides, back.dtype, back.device), (given.shape, given.strides, dtype, 3))
                    self.assertEqual(back.pointer, 0 if 0 in shape else self.address)
                    self.assertEqual(back.is_row_major, strides is None)
        gc.collect()

    def test_memory_lives_as_long_as_somebody_has_it(self) -> None:
        class Owner:
            pass

        owner = Owner()
        alive = weakref.ref(owner)
        before = len(dlpack._given)
        given = collc.DeviceTensor(self.address, (3,), "f32", owner=owner)
        del owner
        back = collc.from_dlpack(given)
        del given
        gc.collect()
        self.assertIsNotNone(alive())
        self.assertEqual(len(dlpack._given), before + 1)
        del back
        gc.collect()
        self.assertIsNone(alive())
        # A capsule that nobody takes ends by itself.
        capsule = collc.DeviceTensor(self.address, (3,), "f32").__dlpack__()
        self.assertEqual(len(dlpack._given), before + 1)
        del capsule
        gc.collect()
        self.assertEqual(len(dlpack._given), before)

    def test_refuses_what_is_no_tensor_of_a_gpu(self) -> None:
        class Other:
            def __init__(self, made: collc.DeviceTensor, **fields: int) -> None:
                self.made, self.fields = made, fields

            def __dlpack_device__(self) -> tuple:
                return self.made.__dlpack_device__()

            def __dlpack__(self, **options: object) -> object:
                capsule = self.made.__dlpack__(stream=-1)
                managed = dlpack._Managed.from_address(dlpack._python.PyCapsule_GetPointer(id(capsule), b"dltensor"))
                for name, value in self.fields.items():
                    setattr(managed.tensor.dtype, name, value)
                return capsule

        there = collc.DeviceTensor(self.address, (3,), "f32")
        with self.assertRaisesRegex(collc.DeviceError, "DLPack's device 1, which is no GPU of CUDA"):
            collc.from_dlpack(collc.DeviceTensor(self.address, (3,), "f32", kind=1))
        for fields in [{"code": 5, "bits": 64}, {"bits": 64}, {"lanes": 4}]:
            with self.assertRaisesRegex(collc.RequirementError, "collc has no dtype of DLPack's code"):
                collc.from_dlpack(Other(there, **fields))
        self.assertEqual(collc.from_dlpack(Other(there)).dtype, "f32")
        with self.assertRaisesRegex(collc.RequirementError, "gives no capsule called 'dltensor'"):
            collc.from_dlpack(type("Odd", (), {"__dlpack_device__": lambda self: (2, 0), "__dlpack__": lambda self, stream: object()})())
        with self.assertRaisesRegex(collc.RequirementError, "there is no dtype 'f64'; there are i8, "):
            collc.DeviceTensor(self.address, (3,), "f64")
        for options in [{"copy": True}, {"dl_device": (1, 0)}]:
            with self.assertRaises(BufferError):
                there.__dlpack__(**options)

    def test_the_gpu_is_done_with_it_before_others_have_it(self) -> None:
        waited = []
        gpu = type("Gpu", (), {"synchronize": lambda self: waited.append(self)})()
        there = collc.DeviceTensor(self.address, (3,), "f32", gpu=gpu)
        there.__dlpack__(stream=-1)
        self.assertEqual(len(waited), 0)
        there.__dlpack__(stream=1)
        there.__dlpack__()
        self.assertEqual(len(waited), 2)

    def test_programs_take_it_where_it_is_what_they_have(self) -> None:
        gpu = collc.Gpu(0, driver=Driver(LIBCUDA))
        loaded = collc.open(FOLDER).find("scaled", ranks=2, dtypes={"T": "f32"}).load(gpu, rank=0, shapes=[{"n": 64}], max_blocks=16)
        self.addCleanup(loaded.close)
        _, memory = gpu.allocate_host(loaded.symmetric_bytes + 128)
        memory += -memory % 128
        loaded.attach([memory, memory])
        x = collc.DeviceTensor(4096, (64,), "f32", pointers=[4096, 8192])
        y = collc.DeviceTensor(12288, (64,), "f32", pointers=[12288, 16384])
        before = len(launches())
        numbers = {"eps": 0.5, "step": 7}
        loaded.launch({"n": 64}, {"x": x, "y": y}, numbers=numbers)
        loaded.launch({"n": 64}, {"x": [4096, 8192], "y": [12288, 16384]}, numbers=numbers)
        first, second = launches()[before:]
        tensors = [(p["kind"], p.get("buffer")) for k in loaded.target.kernels if k.symbol == first["launch"] for p in k.parameters]
        places = [i for i, (_, buffer) in enumerate(tensors) if buffer in ("x", "y")]
        self.assertGreater(len(places), 1)
        self.assertEqual([first["parameters"][i] for i in places], [second["parameters"][i] for i in places])
        wrong = [
            (collc.DeviceTensor(4096, (63,), "f32", pointers=[4096, 8192]), r"'x' is f32\[64\]; given is f32\[63\]"),
            (collc.DeviceTensor(4096, (64,), "i32", pointers=[4096, 8192]), r"'x' is f32\[64\]; given is i32\[64\]"),
            (collc.DeviceTensor(4096, (64,), "f32", device=1, pointers=[4096, 8192]), "'x' is on GPU 1, and the program on GPU 0"),
            (collc.DeviceTensor(4096, (64,), "f32", strides=(2,), pointers=[4096, 8192]), "its elements must lie row by row"),
            (collc.DeviceTensor(4096, (64,), "f32"), "'x' must be symmetric: give the addresses of all ranks"),
        ]
        for given, message in wrong:
            with self.assertRaisesRegex(collc.RequirementError, message):
                loaded.launch({"n": 64}, {"x": given, "y": y}, numbers=numbers)


class Ranks(unittest.TestCase):
    """Processes that send each other memory, and add up."""

    def run_ranks(self, mode: str, world: int) -> list:
        with tempfile.TemporaryDirectory() as run:
            script = str(Path(__file__).with_name("rank.py"))
            started = [
                subprocess.Popen(
                    [sys.executable, script, mode, str(rank), str(world), run, FOLDER, LIBCUDA],
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                )
                for rank in range(world)
            ]  # fmt: skip
            printed = [process.communicate(timeout=300) for process in started]
            for process, (_, errors) in zip(started, printed):
                self.assertEqual(process.returncode, 0, errors)
            self.assertEqual(os.listdir(run), [])
            return [out.splitlines() for out, _ in printed]

    def test_two_and_four_add_up(self) -> None:
        for world in (2, 4):
            for lines in self.run_ranks("run", world):
                self.assertEqual(lines, ["wrong: 0", "wrong: 0", "live: [0, 0, 0, 0, 0, 0]"])

    def test_a_rank_that_stays_away_is_noticed_and_all_recover(self) -> None:
        first, second = self.run_ranks("alone", 2)
        self.assertEqual(first[2:4], ["late: rank 0 for 1 in one_shot", "wrong: 0"])
        self.assertEqual(second[2], "wrong: 0")

    def test_a_rank_that_does_not_come(self) -> None:
        with tempfile.TemporaryDirectory() as run:
            with self.assertRaisesRegex(collc.CollcError, "rank 0 does not find rank 1 in"):
                collc.Exchange(0, 2, run, timeout=0.1)
            os.chmod(run, 0o777)
            with self.assertRaisesRegex(collc.CollcError, "can be written to by others"):
                collc.Exchange(0, 1, run)


class WithoutTorch(unittest.TestCase):
    def test_the_package_needs_no_torch_and_its_half_for_it_says_so(self) -> None:
        self.assertNotIn("torch", sys.modules)
        blocked = "import sys; sys.modules['torch'] = None; import collc; print(collc.__all__ != [])\nimport collc.pytorch"
        ran = subprocess.run([sys.executable, "-c", blocked], capture_output=True, text=True)
        self.assertEqual(ran.stdout, "True\n")
        self.assertIn("ImportError: this part of collc needs PyTorch", ran.stderr)


if __name__ == "__main__":
    unittest.main()
