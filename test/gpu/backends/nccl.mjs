// The nccl provider and NCCL's own collectives, one process a rank.
import { NcclCommunicator, NcclWindowProvider, ncclGroup, ncclUniqueId } from "../../../dist/src/runtime/nccl/index.js";
import {
  byteLength,
  check,
  DeviceMemory,
  encoded,
  mustThrow,
  native,
  range,
  readBack,
  same,
  settle,
  valueOf,
  viewOf,
} from "./support.mjs";

const timeoutMs = 20_000;

async function using(place, options, body) {
  const provider = await NcclWindowProvider.create({ ...place, timeoutMs, ...options });
  const stream = native().streamCreate(place.device);
  try {
    return await body(provider, stream);
  } finally {
    native().streamDestroy(stream);
    await provider.close();
  }
}

async function peersReach(place, provider, stream) {
  const { rank, world, exchange, device } = place;
  const n = 5000;
  const memory = await provider.allocate(world * n * 4 + 12);
  const view = viewOf(memory);
  check(memory.peerPointers[rank] === memory.localPointer, "the own entry is the local address");
  check(
    memory.peerPointers.every((pointer) => pointer !== 0n),
    "every peer has an address",
  );
  check(
    view.read(new Uint8Array(memory.bytes)).every((byte) => byte === 0),
    "not zeroed",
  );
  await exchange.barrier("zero seen");
  const mine = DeviceMemory.allocate(device, n * 4);
  const pattern = (r) => Uint32Array.from(range(n), (i) => r * 100_000 + i);
  mine.write(pattern(rank));
  for (const pointer of memory.peerPointers) {
    native().copyOnDevice(stream, pointer + BigInt(rank * n * 4), mine.pointer, n * 4);
  }
  await settle(stream, "writing to peers");
  await exchange.barrier("written");
  for (let peer = 0; peer < world; peer++) {
    same([...view.read(new Uint32Array(n), peer * n * 4)], [...pattern(peer)], `written by rank ${peer}`);
    native().copyOnDevice(stream, mine.pointer, memory.peerPointers[peer] + BigInt(rank * n * 4), n * 4);
    await settle(stream, "reading a peer");
    same([...mine.read(new Uint32Array(n))], [...pattern(rank)], `read from rank ${peer}`);
  }
  await exchange.barrier("read");
  mine.free();
  // NCCL's own collective on the window's memory.
  view.write(Float32Array.from(range(n), (i) => valueOf(rank, i)));
  provider.communicator.allReduce(stream, memory.localPointer, memory.localPointer, n, "f32", "sum");
  await settle(stream, "all-reduce on the window");
  same(readBack(view, "f32", n), reduced(place.world, n, "sum"), "all-reduce on the window");
  await memory.free();
  await mustThrow(() => memory.free(), /freed before/);
}

function reduced(world, n, op, offset = 0) {
  const fold = {
    sum: (a, b) => a + b,
    avg: (a, b) => a + b,
    prod: (a, b) => a * b,
    min: (a, b) => Math.min(a, b),
    max: (a, b) => Math.max(a, b),
  }[op];
  return range(n).map((i) => {
    const total = range(world)
      .map((r) => valueOf(r, offset + i))
      .reduce(fold);
    return op === "avg" ? total / world : total;
  });
}

/** Every collective for one dtype and reduction. */
async function collectives(place, communicator, stream, dtype, op) {
  const { rank, world, device } = place;
  const n = 1003;
  const bytes = byteLength(dtype, n);
  const source = DeviceMemory.allocate(device, bytes * world);
  const target = DeviceMemory.allocate(device, bytes * world);
  const reset = () => {
    source.write(
      encoded(
        dtype,
        range(n * world).map((i) => valueOf(rank, i)),
      ),
    );
    target.fill(0x7b);
  };
  const result = async (what, count, wanted) => {
    await settle(stream, what);
    same(readBack(target, dtype, count), wanted, `${what} ${dtype} ${op}`);
    reset();
  };
  try {
    reset();
    communicator.allReduce(stream, source.pointer, target.pointer, n, dtype, op);
    await result("all_reduce", n, reduced(world, n, op));
    communicator.reduceScatter(stream, source.pointer, target.pointer, n, dtype, op);
    await result("reduce_scatter", n, reduced(world, n, op, rank * n));
    for (let root = 0; root < world; root++) {
      communicator.reduce(stream, source.pointer, target.pointer, n, dtype, op, root);
      if (rank === root) await result("reduce", n, reduced(world, n, op));
      else await settle(stream, "reduce");
    }
    await moves(place, communicator, stream, dtype, n, source, target, result);
  } finally {
    source.free();
    target.free();
  }
}

/** What moves data and computes nothing. */
async function moves(place, communicator, stream, dtype, n, source, target, result) {
  const { rank, world } = place;
  communicator.allGather(stream, source.pointer, target.pointer, n, dtype);
  await result(
    "all_gather",
    n * world,
    range(n * world).map((i) => valueOf(Math.floor(i / n), i % n)),
  );
  communicator.allToAll(stream, source.pointer, target.pointer, n, dtype);
  await result(
    "all_to_all",
    n * world,
    range(n * world).map((i) => valueOf(Math.floor(i / n), rank * n + (i % n))),
  );
  for (let root = 0; root < world; root++) {
    communicator.broadcast(stream, source.pointer, target.pointer, n, dtype, root);
    await result(
      "broadcast",
      n,
      range(n).map((i) => valueOf(root, i)),
    );
  }
  const before = (rank - 1 + world) % world;
  ncclGroup(() => {
    communicator.send(stream, source.pointer, n, dtype, (rank + 1) % world);
    communicator.receive(stream, target.pointer, n, dtype, before);
  });
  await result(
    "send and receive",
    n,
    range(n).map((i) => valueOf(before, i)),
  );
}

export const ncclCases = {
  async "nccl: windows, addresses from NCCL"(place) {
    return using(place, {}, async (provider, stream) => {
      await peersReach(place, provider, stream);
      return `${provider.library.version}, addresses: ${provider.addresses}, ${JSON.stringify(provider.library.symbols)}`;
    });
  },

  async "nccl: addresses by exported handles"(place) {
    return using(place, { exportHandles: true }, async (provider, stream) => {
      check(provider.addresses === "exported handles", "the choice is followed");
      await peersReach(place, provider, stream);
    });
  },

  async "nccl: peers out of reach, by NCCL alone"(place) {
    return using(place, { pretendUnreachable: true }, async (provider, stream) => {
      const { rank, world } = place;
      const n = 4096;
      const memory = await provider.allocate(n * 4);
      const other = await provider.allocate(n * 4);
      check(memory.peerPointers.filter((pointer) => pointer !== 0n).length === 1, "the own address alone");
      viewOf(memory).write(Float32Array.from(range(n), (i) => valueOf(rank, i)));
      const { communicator } = provider;
      ncclGroup(() => {
        communicator.send(stream, memory.localPointer, n, "f32", (rank + 1) % world);
        communicator.receive(stream, other.localPointer, n, "f32", (rank - 1 + world) % world);
      });
      await settle(stream, "send and receive");
      const before = (rank - 1 + world) % world;
      same(
        readBack(viewOf(other), "f32", n),
        range(n).map((i) => valueOf(before, i)),
        "received",
      );
      await memory.free();
      await other.free();
    });
  },

  async "nccl: handles do not travel between hosts"(place) {
    return using(place, { exportHandles: true, fds: null }, async (provider) => {
      const memory = await provider.allocate(4096);
      check(memory.peerPointers.filter((pointer) => pointer !== 0n).length === 1, "the own address alone");
      await memory.free();
    });
  },

  async "nccl: different sizes are an error everywhere"(place) {
    if (place.world === 1) return "skipped: one rank";
    return using(place, {}, async (provider) => {
      await mustThrow(() => provider.allocate(1024 + place.rank), /ask for different sizes/);
      await (await provider.allocate(1024)).free();
    });
  },

  async "nccl: collectives in every reduction and dtype"(place) {
    return using(place, {}, async ({ communicator }, stream) => {
      for (const dtype of ["f32", "i32", "f16", "bf16", "u8"]) {
        for (const op of ["sum", "min", "max"]) await collectives(place, communicator, stream, dtype, op);
      }
      await collectives(place, communicator, stream, "f32", "prod");
      // Sums of at most 56 divided by a power of two are exact.
      if ([1, 2, 4, 8].includes(place.world)) await collectives(place, communicator, stream, "f32", "avg");
    });
  },

  async "nccl: 8-bit floats where the version has them"(place) {
    return using(place, {}, async ({ communicator, library }, stream) => {
      const n = 512;
      const { device, world, rank } = place;
      const source = DeviceMemory.allocate(device, n * world);
      const target = DeviceMemory.allocate(device, n * world);
      const result = async (what, count, wanted) => {
        await settle(stream, what);
        same(readBack(target, "f8e4m3", count), wanted, what);
      };
      try {
        source.write(
          encoded(
            "f8e4m3",
            range(n * world).map((i) => valueOf(rank, i)),
          ),
        );
        if (library.float8) await moves(place, communicator, stream, "f8e4m3", n, source, target, result);
        else await mustThrow(() => communicator.broadcast(stream, 0n, 0n, 1, "f8e4m3", 0), /NCCL 2\.24/);
      } finally {
        source.free();
        target.free();
      }
      return library.float8 ? "moved" : "refused";
    });
  },

  async "nccl: all-reduce replays from a graph"(place) {
    return using(place, {}, async ({ communicator }, stream) => {
      const { rank, world, device } = place;
      const n = 1024;
      const x = DeviceMemory.allocate(device, n * 4);
      const y = DeviceMemory.allocate(device, n * 4);
      communicator.allReduce(stream, x.pointer, y.pointer, n, "f32", "sum"); // connections are made before the capture
      await settle(stream, "warm-up");
      native().captureBegin(stream);
      let graph;
      try {
        communicator.allReduce(stream, x.pointer, y.pointer, n, "f32", "sum");
      } finally {
        graph = native().captureEnd(stream);
      }
      const exec = native().graphInstantiate(graph);
      for (let replay = 0; replay < 4; replay++) {
        if (replay % world === rank) await new Promise((resolve) => setTimeout(resolve, 30));
        x.write(Float32Array.from(range(n), (i) => valueOf(rank, i) + replay));
        native().graphLaunch(exec, stream);
        await settle(stream, "replay");
        same(
          readBack(y, "f32", n),
          reduced(world, n, "sum").map((v) => v + replay * world),
          `replay ${replay}`,
        );
      }
      native().graphExecDestroy(exec);
      native().graphDestroy(graph);
      x.free();
      y.free();
    });
  },

  async "nccl: wrong ids, roots and peers are refused"(place) {
    const { device, world } = place;
    await mustThrow(
      () => NcclCommunicator.create({ device, rank: 0, world: 1, uniqueId: new Uint8Array(100) }),
      /128 bytes, not 100/,
    );
    const id = await ncclUniqueId();
    check(id.length === 128, "a unique id of 128 bytes");
    await mustThrow(() => NcclCommunicator.create({ device, rank: 1, world: 1, uniqueId: id }), /no rank 1 of 1/);
    return using(place, {}, async ({ communicator }, stream) => {
      await mustThrow(() => communicator.broadcast(stream, 0n, 0n, 1, "f32", world), /root .* is not a rank/);
      await mustThrow(() => communicator.reduce(stream, 0n, 0n, 1, "f32", "sum", -1), /root -1 is not a rank/);
      await mustThrow(() => communicator.send(stream, 0n, 1, "f32", world), /peer .* is not a rank/);
    });
  },

  async "nccl: a communicator ends in each way, and another begins"(place) {
    const { device, rank, world, exchange } = place;
    for (const end of ["destroy", "finalize", "abort"]) {
      const ids = await exchange.allGather(
        `id for ${end}`,
        rank === 0 ? Buffer.from(await ncclUniqueId()).toString("hex") : "",
      );
      const uniqueId = Buffer.from(ids[0], "hex");
      const communicator = await NcclCommunicator.create({ device, rank, world, uniqueId, timeoutMs });
      communicator.check();
      if (end === "abort") {
        // Aborting is for when peers are gone; here everybody does, after a barrier.
        await exchange.barrier("before abort");
        await communicator.abort();
      } else {
        if (end === "finalize") await communicator.finalize();
        await communicator.destroy();
      }
      await mustThrow(() => communicator.destroy(), /closed before/);
    }
  },

  async "nccl: a rank that never comes"(place) {
    if (place.world === 1) return "skipped: one rank";
    if (place.rank !== 0) return undefined;
    const uniqueId = await ncclUniqueId();
    const error = await mustThrow(
      () => NcclCommunicator.create({ device: place.device, rank: 0, world: 2, uniqueId, timeoutMs: 1500 }),
      /did not end within 1500 ms/,
    );
    return error.message;
  },

  async "nccl: allocations come and go"(place) {
    return using(place, {}, async (provider) => {
      await (await provider.allocate(1 << 20)).free();
      const before = native().memoryInfo(place.device).freeBytes;
      for (let i = 0; i < 30; i++) await (await provider.allocate((1 << 20) + i * 4)).free();
      const after = native().memoryInfo(place.device).freeBytes;
      check(after >= before - (64 << 20), `${before - after} bytes of the device are gone after 30 rounds`);
    });
  },
};
