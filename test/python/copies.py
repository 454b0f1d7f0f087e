"""What the package gives a GPU's copy engines, against the fake driver: says and writes what `test/aot/copies.c` does, with the same arguments."""

import ctypes
import sys

import collc
from collc.artifacts import DTYPE_BYTES
from collc.gpu import Driver

libcuda, folder, path, world, mode, dump, word, *lengths = sys.argv[1:]
DEVICES, BYTES, ranks, counter = 4, 1 << 12, int(world), int(word)
driver = Driver(libcuda)
library = ctypes.CDLL(libcuda)
gpus = [collc.Gpu(device, driver=driver) for device in range(DEVICES)]
program = collc.open(folder).find(path, ranks=ranks)
dims = dict(zip(program.dims, map(int, lengths)))


def live(when: str) -> None:
    print(f"{when}: {gpus[0].attribute(9004)} streams, {gpus[0].attribute(9005)} events")


def stream() -> int:
    made = ctypes.c_void_p()
    driver("cuStreamCreate", ctypes.byref(made), 1)
    return made.value or 0


streams, tensors = [], {name: [] for name in program.tensors}
for rank in range(ranks):
    driver("cuCtxSetCurrent", gpus[rank % DEVICES]._context)
    streams.append(stream())
    print(f"stream {rank} {streams[-1]}")
    for name in program.tensors:
        tensors[name].append(gpus[0].allocate_host(BYTES)[1])
        print(f"at {name} {rank} {tensors[name][-1]}")
live("before")
loaded, workspaces = [], []
try:
    for rank in range(ranks):
        loaded.append(program.load(gpus[rank % DEVICES], rank=rank, shapes=[dims]))
        workspaces.append(gpus[0].allocate_host(max(1, loaded[-1].symmetric_bytes))[1])
        print(f"at workspace {rank} {workspaces[-1]}")
    print("load: 0")
except collc.DriverError as error:
    print(f"load: 5 {error}")
live("loaded")


def fill(count: int) -> None:
    for rank in range(ranks):
        for name, tensor in program.tensors.items():
            values = [0xFFFF if tensor.is_output else (1000 * rank + i) & 0xFFFF for i in range(BYTES // 2)]
            (ctypes.c_uint16 * (BYTES // 2)).from_address(tensors[name][rank])[:] = values
        if counter >= 0:
            ctypes.c_uint32.from_address(workspaces[rank] + counter).value = count


def write(round: int) -> None:
    with open(f"{dump}.{round}", "wb") as file:
        for rank in range(ranks):
            gpus[rank % DEVICES].synchronize(streams[rank])
            for name, tensor in program.tensors.items():
                count = DTYPE_BYTES[tensor.dtype]
                for length in tensor.shape(dims):
                    count *= length
                file.write(ctypes.string_at(tensors[name][rank], count))
            file.write(ctypes.string_at(workspaces[rank], loaded[rank].symmetric_bytes))


def launch(rank: int, on: int) -> None:
    loaded[rank].launch(dims, tensors, stream=on)


def captured(rank: int) -> ctypes.c_void_p:
    graph, executable = ctypes.c_void_p(), ctypes.c_void_p()
    driver("cuCtxSetCurrent", gpus[rank % DEVICES]._context)
    assert library.cuStreamBeginCapture_v2(ctypes.c_void_p(streams[rank]), 1) == 0
    launch(rank, streams[rank])
    print("capture: 0")
    if rank == 0:
        other = stream()
        print(f"stream other {other}")
        launch(rank, other)
        print("meanwhile: 0")
    ended = library.cuStreamEndCapture(ctypes.c_void_p(streams[rank]), ctypes.byref(graph))
    print(f"captured: {ended} {library.cuGraphInstantiateWithFlags(ctypes.byref(executable), graph, ctypes.c_ulonglong(0))}")
    if rank == 0:
        driver("cuStreamDestroy_v2", other)
    return executable


if len(loaded) == ranks:
    for rank in range(ranks):
        loaded[rank].attach(workspaces)
        loaded[rank].reset(streams[rank])
    if mode == "capture":
        executables = [captured(rank) for rank in range(ranks)]
        fill(7)
        write(0)
        for round in (1, 2):
            fill(8)
            for rank in range(ranks):
                driver("cuCtxSetCurrent", gpus[rank % DEVICES]._context)
                print(f"replay: {library.cuGraphLaunch(executables[rank], ctypes.c_void_p(streams[rank]))}")
            write(round)
    else:
        fill(7)
        for rank in range(ranks):
            try:
                launch(rank, streams[rank])
                print("launch: 0")
            except collc.DriverError as error:
                print(f"launch: 5 {error}")
        write(0)
for each in loaded:
    each.close()
live("after")
