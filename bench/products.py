"""Products alone, beside cuBLAS: kernels that collc built, loaded by their manifest, on one GPU.

    node bench/build-products.mjs DIR
    python3 bench/products.py DIR [RESULTS.json]

Needs a GPU and PyTorch, which brings cuBLAS. First each kernel's answer is held against float64 at sizes with every kind of
tail, at odd addresses too, the output and what lies around it poisoned before; then times are taken in turns with cuBLAS, on
random data, because both depend on the data and on the chip's power. Exit code 1: an answer is wrong.
"""

import ctypes
import json
import math
import os
import statistics
import sys

import torch

DRIVER = ctypes.CDLL("libcuda.so.1")
MAP_TYPES = {"f16": 6, "bf16": 9, "f8e4m3": 0, "f8e5m2": 0, "i8": 0}
DTYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "i32": torch.int32, "i8": torch.int8,
          "f8e4m3": torch.float8_e4m3fn, "f8e5m2": torch.float8_e5m2}
GUARD = 4096  # elements before and after an output that nobody may write


def check(result, what):
    if result != 0:
        raise RuntimeError(f"{what}: CUDA error {result}")


def extent(e, dims):
    if isinstance(e, int):
        return e
    if isinstance(e, str):
        return dims[e]
    a, b = extent(e["a"], dims), extent(e["b"], dims)
    return {"add": a + b, "sub": a - b, "mul": a * b, "min": min(a, b), "max": max(a, b),
            "div": a // b if b else 0, "ceildiv": -(-a // b) if b else 0, "mod": a % b if b else 0}[e["op"]]


def tensor_map(buffer, box, address, dims):
    sizes = [extent(e, dims) for e in reversed(buffer["shape"])]
    strides = []
    for d in range(len(sizes) - 1):
        strides.append((strides[-1] if strides else DTYPES[buffer["dtype"]].itemsize) * sizes[d])
    if address % 16 or any(s % 16 for s in strides):
        return bytes(128)
    rank = len(sizes)
    memory = ctypes.create_string_buffer(256)
    at = (ctypes.addressof(memory) + 63) & ~63
    check(DRIVER.cuTensorMapEncodeTiled(
        ctypes.c_void_p(at), MAP_TYPES[buffer["dtype"]], rank, ctypes.c_void_p(address),
        (ctypes.c_uint64 * rank)(*sizes), (ctypes.c_uint64 * max(1, rank - 1))(*strides),
        (ctypes.c_uint32 * rank)(*reversed(box)), (ctypes.c_uint32 * rank)(*[1] * rank), 0, 3, 3, 0), "cuTensorMapEncodeTiled")
    return ctypes.string_at(at, 128)


class Kernel:
    def __init__(self, folder, manifest):
        self.manifest = manifest
        module = ctypes.c_void_p()
        with open(os.path.join(folder, manifest["files"]["cubin"]), "rb") as f:
            check(DRIVER.cuModuleLoadData(ctypes.byref(module), f.read()), "cuModuleLoadData")
        self.function = ctypes.c_void_p()
        check(DRIVER.cuModuleGetFunction(ctypes.byref(self.function), module, manifest["symbol"].encode()), "cuModuleGetFunction")
        check(DRIVER.cuFuncSetAttribute(self.function, 8, manifest["sharedBytes"]), "cuFuncSetAttribute")
        self.buffers = {b["name"]: b for b in manifest["buffers"]}
        self.status = torch.zeros(16, dtype=torch.int32, device="cuda")

    def memory(self, dims):
        """What a launch needs beside tensors: scratch, and flags that are zero before the first one."""
        kinds = {"f32": torch.float32, "u32": torch.int32, **DTYPES}
        named = {p["buffer"] for p in self.manifest["parameters"] if p["kind"] == "pointer"}
        own = [b for name, b in self.buffers.items() if name in named and b["role"] in ("scratch", "signal", "state")]
        return {b["name"]: torch.zeros(math.prod(extent(e, dims) for e in b["shape"]), dtype=kinds[b["dtype"]], device="cuda")
                for b in own}

    def launcher(self, addresses, dims):
        own = self.memory(dims)
        addresses = {**addresses, **{name: t.data_ptr() for name, t in own.items()}}
        values = []
        known = dict(dims)
        for length in self.manifest["lengths"]:
            known[length["name"]] = extent(length["value"], known)
        for p in self.manifest["parameters"]:
            kind = p["kind"]
            if kind == "pointer":
                values.append(ctypes.c_uint64(addresses[p["buffer"]]))
            elif kind == "dim":
                values.append(ctypes.c_int64(dims[p["name"]]))
            elif kind == "length":
                values.append(ctypes.c_int64(known[p["name"]]))
            elif kind == "rank":
                values.append(ctypes.c_int32(0))
            elif kind == "timeout":
                values.append(ctypes.c_uint64(10**9))
            elif kind == "status":
                values.append(ctypes.c_uint64(self.status.data_ptr()))
            elif kind == "tensor-map":
                data = tensor_map(self.buffers[p["buffer"]], p["box"], addresses[p["buffer"]], dims)
                values.append((ctypes.c_char * 128).from_buffer_copy(data))
            else:
                raise RuntimeError(f"a kernel of one rank has no parameter '{kind}'")
        pointers = (ctypes.c_void_p * len(values))(*[ctypes.addressof(v) for v in values])
        grid = self.manifest["grid"]
        blocks = max(1, min(grid["maxBlocks"], max(extent(e, dims) for e in grid["work"])))

        def launch(keep=(values, own)):
            stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
            check(DRIVER.cuLaunchKernel(self.function, blocks, 1, 1, self.manifest["blockThreads"], 1, 1,
                                        self.manifest["sharedBytes"], stream, pointers, None), "cuLaunchKernel")
        return launch


def tensors(kernel, dims, offset=0, seed=1):
    """Random inputs, `offset` elements after an aligned address, and an output of NaN inside a guard of NaN."""
    torch.manual_seed(seed)
    made = {}
    for t in kernel.manifest["inputs"]:
        shape = [extent(e, dims) for e in t["localShape"]]
        count = int(torch.tensor(shape).prod())
        values = torch.randn(count + offset, device="cuda")
        flat = (values * 40).clamp(-128, 127).to(torch.int8) if t["dtype"] == "i8" else values.to(DTYPES[t["dtype"]])
        made[t["name"]] = flat[offset:].view(shape)
    (out,) = kernel.manifest["outputs"]
    shape = [extent(e, dims) for e in out["localShape"]]
    count = int(torch.tensor(shape).prod())
    dtype = DTYPES[out["dtype"]]
    whole = torch.full((count + 2 * GUARD + offset,), poison(dtype), device="cuda", dtype=dtype)
    made[out["name"]] = whole[GUARD + offset:GUARD + offset + count].view(shape)
    return made, out["name"], whole


def poison(dtype):
    return float("nan") if dtype.is_floating_point else -2**31


def is_poison(values):
    return torch.isnan(values) if values.dtype.is_floating_point else values == poison(values.dtype)


def transposed_right(t):
    return t["a"] @ t["b"].t()


# Tensor cores add products of f8 with 13 bits behind the first of the largest; each stage of 128 is then added in f32.
NARROW = {"mm_i8": 0.0, "mm_f8e4m3": 2.0**-11, "mm_f8e5m2": 2.0**-11}
REFERENCES = {
    **{name: transposed_right for name in NARROW},
    "mm": lambda t: t["a"] @ t["b"],
    "mm_transposed_right": transposed_right,
    "mm_transposed_left": lambda t: t["a"].t() @ t["b"],
    "mm_batched": lambda t: t["a"] @ t["b"],
    "mm_part": lambda t: t["a"][:, 8:-3] @ t["b"][8:-3, :],
    "mm_bias_gelu": lambda t: torch.nn.functional.gelu(t["a"] @ t["b"] + t["bias"]),
}


WORST = {}  # errors of f8 beyond the rounding of the result, over the lengths of the vectors multiplied


def wrong(kernel, dims, offset):
    """What is wrong with the answer, or None. Error bound: rounding of the result, and of sums of K terms near 1 in f32."""
    made, name, whole = tensors(kernel, dims, offset)
    collective = kernel.manifest["collective"].split("@")[0]
    reference = REFERENCES[collective]
    wide = {k: v.double() for k, v in made.items() if k != name}
    expected = reference(wide)
    depth = dims["k"]
    bound = 2.0**-8 * expected.abs() + 2.0**-20 * depth + 1e-30
    if collective == "mm_i8":
        bound = torch.full_like(expected, 0.5)
    elif collective in NARROW:
        lengths = [torch.linalg.vector_norm(wide[x], dim=1) for x in "ab"]
        bound = bound + NARROW[collective] * lengths[0][:, None] * lengths[1][None, :]
    kernel.launcher({k: v.data_ptr() for k, v in made.items()}, dims)()
    torch.cuda.synchronize()
    first = made[name].clone()
    if is_poison(first).any():
        return f"{int(is_poison(first).sum())} elements not written"
    worst = ((first.double() - expected).abs() / bound).max().item()
    if collective in NARROW and collective != "mm_i8":
        away = (first.double() - expected).abs() - 2.0**-8 * expected.abs()
        WORST[collective] = max(WORST.get(collective, 0), (away / (lengths[0][:, None] * lengths[1][None, :])).max().item())
    if worst > 1:
        return f"error {worst:.2f} times the bound"
    count = first.numel()
    if not (is_poison(whole[:GUARD + offset]).all() and is_poison(whole[GUARD + offset + count:]).all()):
        return "elements around the output were written"
    kernel.launcher({k: v.data_ptr() for k, v in made.items()}, dims)()
    torch.cuda.synchronize()
    return None if torch.equal(first, made[name]) else "a second launch gives other bits"


TAILS = [(1, 1, 1), (128, 256, 64), (127, 255, 63), (129, 257, 65), (64, 512, 8), (1000, 1048, 712), (333, 776, 552), (2048, 264, 4096),
         # Few tiles, whose depth is cut.
         (5, 300, 4096), (128, 256, 8192), (16, 512, 5000), (130, 1000, 3001), (1, 8192, 8192),
         # Of such lengths tiles have 128, 160, 192 and 224 columns, where products are of 16 bits.
         (500, 3992, 264), (1000, 2504, 520), (760, 3576, 136), (1400, 2680, 72)]
SHAPES = [(4096, 4096, 4096), (8192, 8192, 8192), (512, 8192, 2048), (512, 2048, 8192), (2048, 8192, 2048), (2048, 2048, 8192),
          (8192, 8192, 7168), (8192, 7168, 8192),
          # Layers of Llama 3 70B on 4 ranks, for few tokens.
          (1, 8192, 8192), (16, 8192, 8192), (64, 8192, 8192), (128, 8192, 8192), (16, 2560, 8192), (16, 8192, 2048), (16, 14336, 8192),
          (16, 8192, 7168), (128, 2560, 8192), (256, 2560, 8192), (512, 2560, 8192), (1024, 2560, 8192), (512, 4096, 8192), (512, 8192, 7168),
          # Of which blocks have few rounds.
          (2048, 2560, 8192), (768, 3584, 8192), (1280, 4096, 4096), (1024, 5120, 4096)]


def recorded(launch, count):
    """So many launches as one CUDA graph: the host is not what is timed."""
    launch()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(count):
            launch()
    return graph


def timed(graph, count):
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    graph.replay()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / count * 1e3


def main():
    folder = sys.argv[1]
    torch.zeros(1, device="cuda")  # PyTorch makes the context that the driver's calls need
    with open(os.path.join(folder, "manifest.json")) as f:
        kernels = {k["collective"]: Kernel(folder, k) for k in json.load(f)["kernels"]}
    bad = 0
    checked = []
    for name, kernel in kernels.items():
        for m, n, k in TAILS:
            for offset in (0, 1):
                problem = wrong(kernel, {"m": m, "n": n, "k": k}, offset)
                checked.append({"kernel": name, "m": m, "n": n, "k": k, "offset": offset, "problem": problem})
                if problem is not None:
                    bad += 1
                    print(f"WRONG {name} {m}x{n}x{k} offset {offset}: {problem}", flush=True)
    print(f"{len(checked) - bad} of {len(checked)} answers right", flush=True)
    rows = []
    for name in kernels:
        collective = name.split("@")[0]
        if collective not in ("mm", "mm_transposed_right", *NARROW):
            continue
        for m, n, k in SHAPES:
            kernel, dims = kernels[name], {"m": m, "n": n, "k": k}
            problem = wrong(kernel, dims, 0)
            made, out, _ = tensors(kernel, dims)
            launch = kernel.launcher({key: v.data_ptr() for key, v in made.items()}, dims)
            left, right = made["a"], made["b"] if collective == "mm" else made["b"].t()
            target = torch.empty_like(made[out])
            one = torch.ones((), device="cuda")
            peer = lambda: torch.matmul(left, right, out=target)
            if collective == "mm_i8":
                peer = lambda: torch._int_mm(left, right, out=target)
            elif collective in NARROW:
                peer = lambda: torch._scaled_mm(left, right, one, one, out_dtype=target.dtype, out=target)
            try:
                peer()
            except (RuntimeError, ValueError) as e:  # some shapes and dtypes have no kernel there
                print(f"{name} {m}x{n}x{k}: PyTorch has none: {str(e).splitlines()[0][:120]}", flush=True)
                peer = None
            count = max(3, min(100, int(1e13 / (2 * m * n * k))))
            graphs = [recorded(each, count) for each in (launch, peer) if each is not None]
            for graph in graphs:
                timed(graph, count)
            rounds = [[timed(graph, count) for graph in graphs] for _ in range(9)]
            ours, *others = (statistics.median(r[i] for r in rounds) for i in range(len(graphs)))
            theirs, ratio = (others[0], statistics.median(r[1] / r[0] for r in rounds)) if others else (None, None)
            bad += problem is not None
            rows.append({"kernel": name, "m": m, "n": n, "k": k, "collc_us": ours, "cublas_us": theirs, "of_cublas": ratio,
                         "tflops": 2 * m * n * k / ours / 1e6, "problem": problem})
            print(f"{name:20} {m:6}x{n:5}x{k:5}  collc {ours:8.1f} us {2 * m * n * k / ours / 1e6:5.0f} TFLOP/s  "
                  + (f"cuBLAS {theirs:8.1f} us  {100 * ratio:5.1f} %  " if others else "") + (problem or "right"), flush=True)
    print("errors of f8:", WORST, flush=True)
    if len(sys.argv) > 2:
        with open(sys.argv[2], "w") as f:
            json.dump({"gpu": torch.cuda.get_device_name(0), "torch": torch.__version__, "checked": checked, "times": rows}, f, indent=1)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
