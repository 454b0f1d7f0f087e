"""One rank of a built program with copies, on GPUs: `copies.py PATH RANK WORLD RUN_DIR ARTIFACTS [LIBCUDA MEET]`. Prints a line.

It knows `all_gather/push` of x, and `matmul/all_gather` of a and b; of the product it looks at some elements. With PyTorch there, a
torch.cuda.graph captures a launch and replays it. MEET: ranks meet around each launch, for drivers whose kernels do nothing.
test/gpu/aot.mjs builds the folder and starts the ranks.
"""

import array
import struct
import sys
from typing import Callable

import collc

path, rank, world, run, folder = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:6]
libcuda, meet = (sys.argv[6], len(sys.argv) > 7) if len(sys.argv) > 6 else ("libcuda.so.1", False)
is_product = path != "all_gather/push"
dims = {"m": 256 * world, "k": 256, "n": 128 * world} if is_product else {"n": world << 16}


def bf16(value: int) -> int:
    """Of a whole number up to 256, exactly."""
    return struct.unpack("<I", struct.pack("<f", value))[0] >> 16


BF16 = {value: bf16(value) for value in range(-256, 257)}


def factor(of: int, i: int, j: int, round: int) -> int:
    return (i * 7 + j * 5 + of * 3 + round) % 3 - 1


def element(of: int, i: int, round: int) -> int:
    return (i * 7 + of * 13 + round) % 251


def given(name: str, i: int, round: int) -> int:
    if not is_product:
        return element(rank, i, round)
    k, columns, rows = dims["k"], dims["n"] // world, dims["m"] // world
    if name == "a":
        return factor(0, rank * rows + i // k, i % k, round)
    return factor(1, i // columns, rank * columns + i % columns, round)


def wanted(i: int, round: int) -> int:
    if not is_product:
        each = dims["n"] // world
        return element(i // each, i % each, round)
    columns = dims["n"] // world
    return sum(factor(0, i // columns, d, round) * factor(1, d, rank * columns + i % columns, round) for d in range(dims["k"]))


def counted(shape: "tuple[int, ...]") -> int:
    count = 1
    for length in shape:
        count *= length
    return count


program = collc.open(folder).find(path, ranks=world, dtypes={"T": "bf16"})
with collc.Exchange(rank, world, run) as ranks:
    gpu = collc.Gpu(rank, driver=collc.gpu.Driver(libcuda))
    sizes = {name: counted(tensor.shape(dims)) for name, tensor in program.tensors.items()}
    memory = {name: collc.SymmetricMemory(gpu, ranks, 2 * size) for name, size in sizes.items()}
    loaded = program.load(gpu, rank=rank, shapes=[dims], timeout=20.0)
    workspace = collc.connect(loaded, ranks)
    output = next(name for name, tensor in program.tensors.items() if tensor.is_output)
    looked_at = range(0, sizes[output], 1 if not is_product else 97)

    def wrong_after(enqueue: Callable[[], object], round: int) -> int:
        for name, size in sizes.items():
            values = (0xFFFF if name == output else BF16[given(name, i, round)] for i in range(size))
            memory[name].write(array.array("H", values))
        ranks.meet()
        enqueue()
        gpu.synchronize()
        if meet:
            ranks.meet()
        loaded.check()
        found = array.array("H", memory[output].read())
        return sum(found[i] != BF16[wanted(i, round)] for i in looked_at)

    tensors = {name: each.pointers for name, each in memory.items()}
    wrong = sum(wrong_after(lambda: loaded.launch(dims, tensors), round) for round in range(2))
    how = "2 launches"
    try:
        import torch
    except ImportError:
        torch = None
    if torch is not None and not meet:
        torch.cuda.set_device(rank)
        prepared = loaded.prepare(dims, tensors)
        graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
        with torch.cuda.graph(graph, stream=stream):
            prepared.launch(torch.cuda.current_stream().cuda_stream)

        def replay() -> None:
            graph.replay()
            torch.cuda.synchronize()

        wrong += sum(wrong_after(replay, round) for round in range(2, 4))
        how += " and 2 replays"
        del graph
    print(f"rank {rank}: {path}, {how}: {wrong} wrong")
    ranks.meet()
    loaded.close()
    for each in (workspace, *reversed(list(memory.values()))):
        if each is not None:
            each.close()
