/** Mutants of device-level kernels: each drops or weakens one op that orders accesses. */
import { type Kernel, type Op, type Region } from "../../src/compiler/ir/module.js";
import { Value } from "../../src/compiler/ir/module.js";
import { problemsOf } from "../../src/compiler/ir/verify.js";
import { INDEX } from "../../src/compiler/ir/types.js";

export interface Mutant {
  readonly name: string;
  /** What was done to which op: "drop block_sync #3". */
  readonly kind: "drop" | "relax" | "narrow" | "slot" | "pairs" | "count";
  readonly op: Op;
  /** Null where the verifier refuses it. */
  readonly kernel: Kernel | null;
}

type Edit = (op: Op) => readonly Op[];

/** The kernel with one op (by identity) replaced. */
export function edited(kernel: Kernel, target: Op, edit: Edit): Kernel {
  const region = (r: Region): Region => ({
    arguments: r.arguments,
    ops: r.ops.flatMap((op) => {
      if (op === target) return edit(op);
      return op.regions.length === 0 ? [op] : [{ ...op, regions: op.regions.map(region) }];
    }),
  });
  return { ...kernel, body: region(kernel.body) };
}

export function mutantsOf(kernel: Kernel): Mutant[] {
  const mutants: Mutant[] = [];
  const counts = new Map<string, number>();
  const states = new Set(kernel.buffers.filter((b) => b.role === "state").map((b) => b.name));
  const visit = (r: Region): void => {
    for (const op of r.ops) {
      const n = (counts.get(op.name) ?? 0) + 1;
      counts.set(op.name, n);
      const add = (kind: Mutant["kind"], what: string, edit: Edit): void => {
        const mutant = edited(kernel, op, edit);
        const isRefused = kind === "drop" && op.name === "block_sync" && problemsOf(mutant).length > 0;
        mutants.push({ name: `${what} ${op.name} #${n}`, kind, op, kernel: isRefused ? null : mutant });
      };
      const set =
        (attributes: Op["attributes"]): Edit =>
        (o) => [{ ...o, attributes: { ...o.attributes, ...attributes } }];
      if (["signal", "wait", "block_sync", "copy_wait"].includes(op.name)) add("drop", "drop", () => []);
      if (op.name === "signal" || op.name === "wait") {
        add("relax", "relax", set({ order: "relaxed" }));
        // Word of earlier launches is less than word of all.
        if (op.attributes["order"] === "release") add("relax", "of launches,", set({ order: "launch" }));
        if (op.attributes["scope"] === "sys") add("narrow", "narrow", set({ scope: "gpu" }));
        const at = op.name === "wait" ? 1 : op.attributes["remote"] === true ? 2 : 1;
        const slots = kernel.buffers
          .find((b) => b.name === op.attributes["buffer"])!
          .shape.reduce<number>((a, e) => a * (e as number), 1);
        if (slots > 1)
          add("slot", "next slot of", (o) => {
            // The next flag, round the end to the first.
            const [one, all, sum, next] = [0, 1, 2, 3].map(() => new Value(INDEX)) as [Value, Value, Value, Value];
            const make = (name: Op["name"], operands: Value[], result: Value, attributes: Op["attributes"]): Op => ({
              name,
              operands,
              results: [result],
              attributes,
              regions: [],
              span: o.span,
            });
            return [
              make("const", [], one, { value: 1 }),
              make("const", [], all, { value: slots }),
              make("binary", [o.operands[at]!, one], sum, { fn: "add" }),
              make("binary", [sum, all], next, { fn: "rem" }),
              { ...o, operands: o.operands.map((v, i) => (i === at ? next : v)) },
            ];
          });
      }
      if (op.name === "store" && states.has(op.attributes["buffer"] as string)) add("count", "drop count of", () => []);
      op.regions.forEach(visit);
    }
  };
  visit(kernel.body);
  return mutants;
}
