// One process of a suite: does the named cases, tells the parent what begins and how it ended, and stops after the
// first case that fails, because its ranks may be out of step then; see ../backends.mjs.
import { parseArgs } from "node:util";
import { joinGroup } from "../../../dist/src/runtime/bootstrap.js";
import { connect } from "../../../dist/src/runtime/connect.js";
import { openCuda } from "../../../dist/src/runtime/cuda/device.js";
import { Exchange } from "../../../dist/src/runtime/exchange.js";
import { caseMs, suites } from "./suites.mjs";

const { values: options } = parseArgs({ options: { suite: { type: "string" }, cases: { type: "string" } } });
const suite = suites[options.suite];
const names = JSON.parse(options.cases);
/** Shorter than the parent's patience, so that a rank says what it waits for before it is killed. */
const waitMs = caseMs - 15_000;

/** What cases of providers get. */
async function directPlace() {
  const { deviceCount } = openCuda();
  const boot = await joinGroup({ timeoutMs: waitMs });
  const { rank, world, store } = boot;
  const subgroups = new Map();
  const placeOf = (members, exchange) => ({
    device: boot.localRank % deviceCount,
    rank: members.indexOf(rank),
    world: members.length,
    ranks: members,
    exchange,
    subgroup: (some) => {
      // The same on all members, whatever other groups they are in.
      const name = `sub ${some.join("+")}`;
      const count = subgroups.get(name) ?? 0;
      subgroups.set(name, count + 1);
      return placeOf(some, new Exchange(store, `${name} #${count}`, { ranks: some, timeoutMs: waitMs }));
    },
  });
  const all = Array.from({ length: world }, (_, r) => r);
  const place = placeOf(all, boot.exchange);
  let held = await suite.hold?.(place);
  place.letGo = async () => {
    await held?.close();
    held = undefined;
  };
  const close = async () => {
    await place.letGo();
    await boot.close();
  };
  return { rank, store, place, close };
}

/** What cases of groups get. */
async function groupPlace(backend) {
  const group = await connect({ backend, timeoutMs: waitMs });
  const { rank } = group;
  return { rank, store: group.boot.store, place: { group, rank, world: group.world }, close: () => group.close() };
}

/** What cases of one process with several GPUs get. */
async function listPlace() {
  const { deviceCount } = openCuda();
  const devices = Array.from({ length: Math.min(deviceCount, Number(process.env.BACKENDS_GPUS)) }, (_, i) => i);
  const boot = await joinGroup({ timeoutMs: waitMs });
  return { rank: 0, store: boot.store, place: { devices }, close: () => boot.close() };
}

const send = (message) => new Promise((resolve) => process.send(message, resolve));

async function main() {
  const open = { direct: directPlace, lists: listPlace, group: () => groupPlace(suite.backend) }[suite.kind];
  const { rank, store, place, close } = await open();
  const outcomes = new Exchange(store, "outcomes", { timeoutMs: waitMs });
  const act = async (name, body) => {
    if (rank === 0) await send({ begin: name });
    const began = performance.now();
    let own;
    try {
      own = { ok: true, detail: (await body()) ?? "" };
    } catch (error) {
      const where = error.stack?.match(/\n\s*at .*test\/gpu\/.*/)?.[0] ?? "";
      own = { ok: false, detail: `${error.message}${error.help ? ` (${error.help})` : ""}${where}` };
      await send({ trouble: own.detail });
    }
    const ms = Math.round(performance.now() - began);
    return { name, ms, ...own };
  };
  for (const name of names) {
    const { ms, ...own } = await act(name, () => suite.cases[name](place));
    const all = await outcomes.allGather(`outcome of ${name}`, own);
    const bad = all.flatMap((o, r) => (o.ok ? [] : [`rank ${r}: ${o.detail}`]));
    const ok = bad.length === 0;
    if (rank === 0) await send({ name, ok, ms, detail: ok ? all[0].detail : bad.join("\n") });
    // A thread may still be in a library's call that never ends.
    if (!ok) process.exit(1);
  }
  const end = await act("clean end", close);
  if (rank === 0) await send(end);
  process.exit(end.ok ? 0 : 1);
}

main().catch(async (error) => {
  console.error(error.stack.slice(0, 3000));
  process.exit(1);
});
