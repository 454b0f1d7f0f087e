"""One rank of the tests, and with MODE gpu of those on GPUs: `rank.py MODE RANK WORLD RUN_DIR ARTIFACTS LIBCUDA`. Prints a line a finding."""

import array
import sys

import collc

mode, rank, world, run, folder, libcuda = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:7]
n = 5003


def element(of: int, i: int, round: int) -> float:
    return float((i * 7 + of * 13 + round) % 1009)


program = collc.open(folder).find("all_reduce/one_shot", ranks=world, dtypes={"T": "f32"})
with collc.Exchange(rank, world, run) as ranks:
    gpu = collc.Gpu(rank, driver=collc.gpu.Driver(libcuda))
    x = collc.SymmetricMemory(gpu, ranks, 4 * n)
    y = collc.SymmetricMemory(gpu, ranks, 4 * n)
    loaded = program.load(gpu, rank=rank, shapes=[{"n": n}, {"n": 1}], timeout=5.0 if mode == "alone" else 60.0)
    workspace = collc.connect(loaded, ranks)

    def launch(round: int) -> None:
        x.write(array.array("f", [element(rank, i, round) for i in range(n)]))
        # A program takes the memory, or tensors in it.
        given = {"x": x, "y": y} if round % 2 == 0 else {"x": x.tensor((n,), "f32"), "y": y.tensor((n,), "f32")}
        loaded.launch({"n": n}, given)
        gpu.synchronize()

    def wrong(round: int) -> int:
        found = array.array("f", y.read())
        return sum(found[i] != sum(element(p, i, round) for p in range(world)) for i in range(n))

    for shape, offset in (((n + 1,), 0), ((n,), 4)):
        try:
            x.tensor(shape, "f32", offset)
            print(f"a tensor of {shape} at {offset} lies outside its memory")
        except ValueError:
            pass
    for round in range(2):
        launch(round)
        loaded.check()
        print(f"wrong: {wrong(round)}")
    if mode == "alone":
        if rank == 0:
            launch(7)
            try:
                loaded.check()
            except collc.WaitTimeout as error:
                print(f"late: rank {error.rank} for {error.peer} in {error.kernel}")
        ranks.meet()
        loaded.reset()
        ranks.meet()
        launch(3)
        loaded.check()
        print(f"wrong: {wrong(3)}")
    loaded.close()
    for memory in (workspace, y, x):
        if memory is not None:
            memory.close()
    if mode != "gpu":  # the fake driver counts what lives
        print(f"live: {[gpu.attribute(9000 + kind) for kind in (0, 1, 2, 3, 8, 9)]}")
