/** Mutants of a device-level kernel's arithmetic, loops and synchronisation: one op each that is another, or missing. */
import { type Kernel, type Op, type Region, type Value } from "../../src/compiler/ir/module.js";
import { scalarOf } from "../../src/compiler/ir/types.js";
import { edited } from "./mutants.js";

export interface PrintedMutant {
  readonly name: string;
  readonly kernel: Kernel;
}

const OTHER: Readonly<Record<string, readonly string[]>> = {
  add: ["sub"],
  sub: ["add"],
  mul: ["add"],
  div: ["rem"],
  rem: ["div"],
  min: ["max"],
  max: ["min"],
  and: ["or"],
  eq: ["ne"],
  ne: ["eq"],
  lt: ["le", "ge"],
  ge: ["gt", "lt"],
};

const MAPS: Readonly<Record<string, readonly string[]>> = {
  blocks: ["serial"],
  threads: ["serial"],
  serial: ["blocks"],
};

/** Those of one kernel, in the order of its ops. */
export function printedMutantsOf(kernel: Kernel): PrintedMutant[] {
  const mutants: PrintedMutant[] = [];
  let number = 0;
  const visit = (region: Region, above: readonly Value[]): void => {
    const known = [...above, ...region.arguments];
    for (const op of region.ops) {
      const at = `${op.name} #${number++}`;
      const add = (what: string, edit: (o: Op) => readonly Op[]): void => {
        mutants.push({ name: `${at}: ${what}`, kernel: edited(kernel, op, edit) });
      };
      const set = (what: string, attributes: Op["attributes"]): void =>
        add(what, (o) => [{ ...o, attributes: { ...o.attributes, ...attributes } }]);
      const { fn, map, value, bytes } = op.attributes;
      if (op.name === "const" && scalarOf(op.results[0]!.type) === "index") {
        const n = value as number;
        for (const other of new Set([n + 1, Math.max(0, n - 1), n * 2, Math.floor(n / 2)]))
          if (other !== n) set(`${other}`, { value: other });
      }
      if (typeof fn === "string") for (const other of OTHER[fn] ?? []) set(other, { fn: other });
      if (typeof map === "string") for (const other of MAPS[map] ?? []) set(other, { map: other });
      if (op.name === "aligned" && bytes === 16) set("8 bytes", { bytes: 8 });
      if (op.results.length === 0 && op.name !== "yield") add("dropped", () => []);
      if (op.name === "if") {
        const [then, otherwise] = op.regions as readonly [Region, Region];
        add("the other way", (o) => [{ ...o, regions: [otherwise, then] }]);
      }
      // The value before it of the same type.
      op.operands.forEach((v, i) => {
        const place = known.indexOf(v);
        const other = known.slice(0, place).findLast((w) => JSON.stringify(w.type) === JSON.stringify(v.type));
        if (other === undefined) return;
        add(`operand ${i}`, (o) => [{ ...o, operands: o.operands.map((w, j) => (j === i ? other : w)) }]);
      });
      known.push(...op.results);
      for (const inner of op.regions) visit(inner, known);
    }
  };
  visit(kernel.body, []);
  return mutants;
}
