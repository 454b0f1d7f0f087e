// The nvshmem provider: memory, peers' addresses, host operations, teams, subgroups, faults. `place` is
// {device, rank, world, ranks, exchange, subgroup(members)}; each case throws where something is wrong.
import { NvshmemProvider, NvshmemSession, openNvshmem, splitTeam } from "../../../dist/src/runtime/nvshmem/index.js";
import { check, DeviceMemory, mustThrow, native, range, readBack, same, settle, valueOf, viewOf } from "./support.mjs";

const KIB = 1024;
const timeoutMs = 20_000;

/** Keeps NVSHMEM initialised from case to case. */
export const holdNvshmem = (place) => NvshmemProvider.create({ ...place, timeoutMs: 40_000 });

/** A provider for one case, closed whatever happens. */
async function using(place, options, body) {
  const provider = await NvshmemProvider.create({ ...place, timeoutMs, ...options });
  const stream = native().streamCreate(place.device);
  try {
    return await body(provider, stream);
  } finally {
    native().streamDestroy(stream);
    await provider.close();
  }
}

const pattern = (rank, n) => Uint32Array.from(range(n), (i) => rank * 100_000 + i);

/** Put, get, put with signal in a ring and to everybody: no address of a peer is used. */
async function exchangeByCalls(place, provider, stream) {
  const { rank, world, device, exchange } = place;
  const n = 3001;
  const block = n * 4;
  const memory = await provider.allocate(block * world + 64);
  const signals = await provider.allocate(8 * world);
  const view = viewOf(memory);
  const source = DeviceMemory.allocate(device, block);
  source.write(pattern(rank, n));
  const operations = await provider.operations();
  try {
    for (let peer = 0; peer < world; peer++) {
      operations.put(stream, memory.localPointer + BigInt(rank * block), source.pointer, block, peer);
    }
    await operations.barrier(stream, { timeoutMs });
    for (let peer = 0; peer < world; peer++) {
      same([...view.read(new Uint32Array(n), peer * block)], [...pattern(peer, n)], `put by rank ${peer}`);
    }
    await exchange.barrier("puts read");
    const into = DeviceMemory.allocate(device, block);
    for (let peer = 0; peer < world; peer++) {
      into.fill(0xee);
      operations.get(stream, into.pointer, memory.localPointer + BigInt(peer * block), block, (peer + 1) % world);
      await settle(stream, "get");
      same([...into.read(new Uint32Array(n))], [...pattern(peer, n)], `get of block ${peer}`);
    }
    await exchange.barrier("gets read");
    const next = (rank + 1) % world;
    const before = (rank - 1 + world) % world;
    for (let round = 1; round <= 5; round++) {
      source.write(pattern(rank + 10 * round, n));
      const signal = signals.localPointer + BigInt(rank * 8);
      operations.putSignal(
        stream,
        memory.localPointer + BigInt(rank * block),
        source.pointer,
        block,
        signal,
        BigInt(round),
        next,
      );
      await operations.waitSignal(stream, signals.localPointer + BigInt(before * 8), BigInt(round), before, {
        timeoutMs,
      });
      same([...view.read(new Uint32Array(n), before * block)], [...pattern(before + 10 * round, n)], `round ${round}`);
      await exchange.barrier(`round ${round}`);
    }
    into.free();
  } finally {
    source.free();
    await signals.free();
    await memory.free();
  }
}

export const nvshmemCases = {
  async "nvshmem: opens, and refuses a second world"(place) {
    const library = await openNvshmem();
    return using(place, {}, async () => {
      await mustThrow(
        () => NvshmemProvider.create({ ...place, ranks: [...place.ranks.slice(1), 77], timeoutMs }),
        /rank 77 is not among them/,
      );
      return `${library.version}, OpenSHMEM ${library.specification}, teams by members: ${library.memberTeams}`;
    });
  },

  async "nvshmem: memory is zeroed and peers' addresses reach it"(place) {
    return using(place, {}, async (provider, stream) => {
      const { rank, world, device, exchange } = place;
      const bytes = 300 * KIB + 4;
      const memory = await provider.allocate(bytes);
      check(memory.peerPointers.length === world, "one address a rank");
      check(memory.peerPointers[rank] === memory.localPointer, "the own entry is the local address");
      check(memory.localPointer % 256n === 0n, "aligned to 256 bytes");
      const reached = memory.peerPointers.filter((pointer) => pointer !== 0n).length;
      const view = viewOf(memory);
      check(
        view.read(new Uint8Array(bytes)).every((byte) => byte === 0),
        "not zeroed",
      );
      await exchange.barrier("zero seen");
      const mine = DeviceMemory.allocate(device, 4 * KIB);
      mine.write(pattern(rank, KIB));
      for (let peer = 0; peer < world; peer++) {
        if (memory.peerPointers[peer] === 0n) continue;
        native().copyOnDevice(stream, memory.peerPointers[peer] + BigInt(rank * 4 * KIB), mine.pointer, 4 * KIB);
      }
      await settle(stream, "writing to peers");
      await exchange.barrier("written");
      for (let peer = 0; peer < world; peer++) {
        if (memory.peerPointers[peer] === 0n) continue;
        same([...view.read(new Uint32Array(KIB), peer * 4 * KIB)], [...pattern(peer, KIB)], `written by rank ${peer}`);
        native().copyOnDevice(stream, mine.pointer, memory.peerPointers[peer] + BigInt(rank * 4 * KIB), 4 * KIB);
        await settle(stream, "reading a peer");
        same([...mine.read(new Uint32Array(KIB))], [...pattern(rank, KIB)], `read from rank ${peer}`);
      }
      mine.free();
      await memory.free();
      await mustThrow(() => memory.free(), /freed before/);
      return `${reached} of ${world} reachable`;
    });
  },

  async "nvshmem: different sizes are an error everywhere"(place) {
    if (place.world === 1) return "skipped: one rank";
    return using(place, {}, async (provider) => {
      await mustThrow(() => provider.allocate(1024 + place.rank), /ask for different sizes/);
      await (await provider.allocate(1024)).free();
    });
  },

  async "nvshmem: put, get and put with signal"(place) {
    return using(place, {}, (provider, stream) => exchangeByCalls(place, provider, stream));
  },

  async "nvshmem: peers out of reach, by calls alone"(place) {
    return using(place, { pretendUnreachable: true }, async (provider, stream) => {
      const memory = await provider.allocate(4096);
      const reached = memory.peerPointers.filter((pointer) => pointer !== 0n).length;
      check(reached === 1, `${reached} addresses, not the own one alone`);
      await memory.free();
      await exchangeByCalls(place, provider, stream);
    });
  },

  async "nvshmem: barrier holds for a straggler"(place) {
    return using(place, {}, async (provider, stream) => {
      const { rank, world, exchange } = place;
      const memory = await provider.allocate(8 * world);
      const view = viewOf(memory);
      const operations = await provider.operations();
      const word = DeviceMemory.allocate(place.device, 8);
      for (let round = 1; round <= 10; round++) {
        if (round % world === rank) await new Promise((resolve) => setTimeout(resolve, 20));
        word.write(new BigUint64Array([BigInt(round)]));
        for (let peer = 0; peer < world; peer++) {
          operations.put(stream, memory.localPointer + BigInt(8 * rank), word.pointer, 8, peer);
        }
        await operations.barrier(stream, { timeoutMs });
        const seen = view.read(new BigUint64Array(world));
        check(
          seen.every((value) => value === BigInt(round)),
          `round ${round}: ${[...seen].join(" ")}`,
        );
        await exchange.barrier(`round ${round} seen`);
      }
      word.free();
      await memory.free();
    });
  },

  async "nvshmem: a wait that runs out names the rank, and the context lives"(place) {
    if (place.world === 1) return "skipped: one rank";
    return using(place, {}, async (provider, stream) => {
      const { rank, world, exchange } = place;
      const signals = await provider.allocate(8);
      const operations = await provider.operations();
      const guilty = world - 1;
      let message = "";
      if (rank !== guilty) {
        const error = await mustThrow(
          () => operations.waitSignal(stream, signals.localPointer, 1n, guilty, { timeoutMs: 300 }),
          new RegExp(`signal from rank ${guilty} did not come within 300 ms`),
        );
        message = error.message;
      }
      await exchange.barrier("one rank was silent");
      if (rank === guilty) {
        for (let peer = 0; peer < guilty; peer++) operations.signal(stream, signals.localPointer, 2n, peer);
        await settle(stream, "signals");
      } else {
        await operations.waitSignal(stream, signals.localPointer, 2n, guilty, { timeoutMs });
      }
      // Barriers, too: one rank comes late, the others learn which, and the next one works.
      if (rank !== guilty) {
        await mustThrow(
          () => operations.barrier(stream, { timeoutMs: 300 }),
          new RegExp(`from rank ${guilty} did not`),
        );
      }
      await exchange.barrier("the others gave up");
      if (rank === guilty) await operations.barrier(stream, { timeoutMs });
      await exchange.barrier("the late one came");
      await operations.barrier(stream, { timeoutMs });
      await signals.free();
      return message;
    });
  },

  async "nvshmem: its own barrier, broadcast, all-to-all and all-gather"(place) {
    return using(place, {}, (provider, stream) => collectives(place, provider, stream));
  },

  async "nvshmem: groups of some ranks, by their members alone"(place) {
    const { rank, world } = place;
    if (world < 2) return "skipped: one rank";
    return using(place, {}, async (whole) => {
      const { memberTeams } = whole.session.library;
      const done = [];
      const lists =
        world >= 4
          ? [
              [0, 1],
              [1, 2, 3],
              [0, 1, 3],
            ]
          : world === 3
            ? [
                [0, 2],
                [1, 2],
              ]
            : [[0], [1]];
      for (const members of lists) {
        if (members.includes(rank)) {
          const sub = place.subgroup(members);
          await using(sub, {}, async (provider, stream) => {
            const memory = await provider.allocate(64 * KIB);
            check(
              viewOf(memory)
                .read(new Uint8Array(64 * KIB))
                .every((byte) => byte === 0),
              "not zeroed",
            );
            viewOf(memory).fill(0xff);
            await memory.free();
            await exchangeByCalls(sub, provider, stream);
            if (memberTeams) await collectives(sub, provider, stream);
            else await mustThrow(() => provider.team(), /without the others/);
          });
        }
        done.push(members.join("+"));
      }
      await place.exchange.barrier("subgroups done");
      return `${done.join(", ")}${memberTeams ? " with teams" : ""}`;
    });
  },

  async "nvshmem: a team split by all ranks"(place) {
    const { rank, world } = place;
    return using(place, {}, async (provider) => {
      const members = range(world).filter((r) => r % 2 === 0);
      const team = await splitTeam(provider.session, members);
      check((team === null) === (rank % 2 === 1), "members and others are told apart");
      if (team !== null) {
        check(native().nvshmemTeamSize(team.id) === members.length, "the size of the team");
        await team.destroy();
      }
      if (world >= 4) await mustThrow(() => splitTeam(provider.session, [0, 1, 3]), /evenly spaced/);
      await place.exchange.barrier("split");
    });
  },

  async "nvshmem: puts and signals replay from a graph"(place) {
    return using(place, {}, async (provider, stream) => {
      const { rank, world, exchange } = place;
      const n = 1024;
      const memory = await provider.allocate(n * 4);
      const source = await provider.allocate(n * 4);
      const operations = await provider.operations();
      const next = (rank + 1) % world;
      const before = (rank - 1 + world) % world;
      operations.put(stream, memory.localPointer, source.localPointer, n * 4, next); // what is made lazily is made now
      operations.quiet(stream);
      await settle(stream, "warm-up");
      await exchange.barrier("warm");
      native().captureBegin(stream);
      let graph;
      try {
        operations.put(stream, memory.localPointer, source.localPointer, n * 4, next);
      } finally {
        graph = native().captureEnd(stream);
      }
      const exec = native().graphInstantiate(graph);
      for (let replay = 0; replay < 4; replay++) {
        viewOf(source).write(pattern(rank + 100 * replay, n));
        native().graphLaunch(exec, stream);
        await operations.barrier(stream, { timeoutMs });
        same([...viewOf(memory).read(new Uint32Array(n))], [...pattern(before + 100 * replay, n)], `replay ${replay}`);
        await exchange.barrier(`replay ${replay} seen`);
      }
      native().graphExecDestroy(exec);
      native().graphDestroy(graph);
      await source.free();
      await memory.free();
    });
  },

  async "nvshmem: allocations come and go"(place) {
    return using(place, {}, async (provider) => {
      await (await provider.allocate(1 << 20)).free();
      const before = native().memoryInfo(place.device).freeBytes;
      for (let i = 0; i < 200; i++) {
        const held = [await provider.allocate(1 << 20), await provider.allocate(5000 + i)];
        for (const memory of held) await memory.free();
      }
      const after = native().memoryInfo(place.device).freeBytes;
      check(after >= before - (64 << 20), `${before - after} bytes of the device are gone after 200 rounds`);
    });
  },

  async "nvshmem: finalised, and set up again"(place) {
    await place.letGo();
    check(NvshmemSession.current === null, "no session after the last provider");
    for (let round = 0; round < 2; round++) {
      await using(place, {}, async (provider) => {
        check(NvshmemSession.current !== null, "a session");
        await (await provider.allocate(4096)).free();
      });
      check(NvshmemSession.current === null, "no session after the last provider");
    }
  },
};

async function collectives(place, provider, stream) {
  const { rank, world, exchange } = place;
  const n = 1000;
  const source = await provider.allocate(world * n * 4);
  const target = await provider.allocate(world * n * 4);
  const operations = await provider.operations();
  const read = (count) => readBack(viewOf(target), "i32", count);
  const fill = () => viewOf(source).write(Int32Array.from(range(world * n), (i) => valueOf(rank, i)));
  fill();
  await exchange.barrier("filled");
  await operations.teamBarrier(stream);
  for (let root = 0; root < world; root++) {
    await operations.broadcast(stream, target.localPointer, source.localPointer, n * 4, root);
    await operations.teamBarrier(stream);
    await settle(stream, "broadcast");
    same(
      read(n),
      range(n).map((i) => valueOf(root, i)),
      `broadcast from ${root}`,
    );
    await exchange.barrier("broadcast seen");
  }
  await operations.allToAll(stream, target.localPointer, source.localPointer, n * 4);
  await operations.teamBarrier(stream);
  await settle(stream, "all-to-all");
  same(
    read(world * n),
    range(world * n).map((i) => valueOf(Math.floor(i / n), rank * n + (i % n))),
    "all-to-all",
  );
  await exchange.barrier("all-to-all seen");
  await operations.allGather(stream, target.localPointer, source.localPointer, n * 4);
  await operations.teamBarrier(stream);
  await settle(stream, "all-gather");
  same(
    read(world * n),
    range(world * n).map((i) => valueOf(Math.floor(i / n), i % n)),
    "all-gather",
  );
  await exchange.barrier("all-gather seen");
  await target.free();
  await source.free();
}
