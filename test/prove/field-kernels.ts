/** Small device-level kernels written by hand: a mailbox between ranks, correct, and with bugs known from the field. */
import { parseKernel } from "../../src/compiler/ir/parse.js";
import { verify } from "../../src/compiler/ir/verify.js";
import type { Kernel } from "../../src/compiler/ir/module.js";

export function kernelOf(
  body: string,
  options: { world?: number; blocks?: number; buffers?: readonly string[] } = {},
): Kernel {
  const { world = 2, blocks = 1, buffers = [] } = options;
  const kernel = parseKernel(`kernel field level=device world=${world} threads=8 blocks=${blocks} {
  in x: f32[8] local local [8]
  out y: f32[8] local local [8]
  specify nothing
  buffer x: input f32[8] symmetric
  buffer y: output f32[8]
  buffer flags: signal u32[${world}] symmetric
  buffer epochs: state u32[1]
  ${buffers.map((b) => `buffer ${b}`).join("\n  ")}
  work ${blocks}
  body {
    %zero = const {value=0} : index
    %one = const {value=1} : index
    %two = const {value=2} : index
    %eight = const {value=8} : index
    %world = const {value=${world}} : index
    %u1 = const {value=1} : u32
    %u2 = const {value=2} : u32
    %rank = rank : index
    %up = binary %rank, %one {fn="add"} : index
    %next = binary %up, %world {fn="rem"} : index
    %epoch = load %zero {buffer="epochs"} : u32
    ${body}
  }
}
`);
  verify(kernel, "field kernel");
  return kernel;
}

export interface Signalling {
  readonly scope?: "gpu" | "sys";
  readonly release?: "release" | "relaxed";
  readonly acquire?: "acquire" | "relaxed";
  /** The block synchronises before it signals, and after it has waited. */
  readonly before?: boolean;
  readonly after?: boolean;
}

let names = 0;

/** All ranks tell all ranks that they have come to point `at` (1, 2, …) of this launch, and wait for them. */
export function meet(at: number, s: Signalling = {}): string {
  const { scope = "sys", release = "release", acquire = "acquire", before = true, after = true } = s;
  const n = ++names;
  return `
    %at${n} = const {value=${at}} : u32
    %value${n} = binary %epoch, %at${n} {fn="add"} : u32
    ${before ? "block_sync" : ""}
    for %zero, %world {map="threads"} (%p${n}) {
      signal %value${n}, %p${n}, %rank {buffer="flags", mode="set", scope="${scope}", order="${release}", remote=true}
    }
    for %zero, %world {map="threads"} (%q${n}) {
      wait %value${n}, %q${n}, %q${n} {buffer="flags", scope="${scope}", order="${acquire}"}
    }
    ${after ? "block_sync" : ""}`;
}

/** Every thread moves one element. */
export function move(
  from: string,
  fromIndex: string,
  to: string,
  toIndex: string,
  remote: "load" | "store" | null = null,
): string {
  const n = ++names;
  return `
    for %zero, %eight {map="threads"} (%t${n}) {
      %i${n} = binary %t${n}, ${fromIndex} {fn="add"} : index
      %j${n} = binary %t${n}, ${toIndex} {fn="add"} : index
      %v${n} = load ${remote === "load" ? "%next, " : ""}%i${n} {buffer="${from}"${remote === "load" ? ", remote=true" : ""}} : f32
      store %v${n}, ${remote === "store" ? "%next, " : ""}%j${n} {buffer="${to}"${remote === "store" ? ", remote=true" : ""}}
    }`;
}

/** Counts the meetings of this launch. */
export function leave(meetings: number): string {
  const n = ++names;
  return `
    %met${n} = const {value=${meetings}} : u32
    %left${n} = binary %epoch, %met${n} {fn="add"} : u32
    for %zero, %one {map="threads"} (%t${n}) {
      store %left${n}, %zero {buffer="epochs"}
    }`;
}

/** Meet, read the neighbour, meet: the shape of every pulling collective. */
export function pull(first: Signalling = {}, last: Signalling | null = {}): Kernel {
  const end = last === null ? "block_sync" : meet(2, last);
  return kernelOf(meet(1, first) + move("x", "%zero", "y", "%zero", "load") + end + leave(last === null ? 1 : 2));
}

/** Write to the neighbour's mailbox, meet, read it; `slots` mailboxes take turns by launch, with no meeting at the end. */
export function mailbox(slots: number): Kernel {
  return kernelOf(
    `%slots = const {value=${slots}} : u32
    %turn = binary %epoch, %slots {fn="rem"} : u32
    %turns = cast %turn : index
    %slot = binary %turns, %eight {fn="mul"} : index` +
      move("x", "%zero", "mail", "%slot", "store") +
      meet(1) +
      move("mail", "%slot", "y", "%zero") +
      leave(1),
    { buffers: [`mail: scratch f32[${8 * slots}] symmetric`] },
  );
}
