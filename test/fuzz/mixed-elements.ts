/** Loops that fill arrays from arrays in mixed bodies: what they store, and what is then held. */
import {
  type Body,
  type Layout,
  localShape,
  type Named,
  type Part,
  partIn,
  type Shape,
  type Tensor,
} from "./mixed-arrays.js";

/** An element, of the rank it is computed on and the variables of the loop. */
interface Element {
  readonly text: string;
  readonly meaning: Part;
  readonly cost: number;
}

/** An array that loops and expressions may store to. */
export interface Target {
  readonly name: string;
  readonly layout: Layout;
  readonly shape: Shape;
  readonly type: string;
}

interface Loop {
  readonly x: Body;
  readonly target: Target;
  readonly variables: readonly string[];
  readonly lengths: Shape;
  /** All ranks must compute the same. */
  readonly isSame: boolean;
}

const plain = (text: string, meaning: Part = () => text): Element => ({ text, meaning, cost: 1 });

function element(l: Loop, depth: number): Element {
  const { x } = l;
  const { c } = x;
  const join = (parts: readonly Element[], write: (texts: readonly string[]) => string): Element => ({
    text: write(parts.map((p) => p.text)),
    meaning: (r, at) => write(parts.map((p) => p.meaning(r, at))),
    cost: parts.reduce((sum, p) => sum + p.cost, 0),
  });
  const again = (): Element => element(l, depth - 1);
  switch (depth === 0 ? c.below(4) : c.below(9)) {
    case 3: {
      if (!l.isSame && c.chance(0.5)) return plain(`${x.wide}(rank)`, (r) => `${x.wide}(${r})`);
      const d = c.below(l.variables.length);
      return plain(`${x.wide}(${l.variables[d]})`, (_r, at) => `${x.wide}(${at[d]})`);
    }
    case 4:
    case 5:
      return join([again(), again()], ([a, b]) => `(${a} + ${b})`);
    case 6:
      return join([again(), again()], ([a, b]) => `(${a} - ${b})`);
    case 7:
      return join([again(), again()], ([a, b]) => `max(${a}, ${b})`);
    case 8:
      return join([again()], ([a]) => `${a} * ${x.isInteger ? "i32(3)" : "f32(0.25)"}`);
    default:
      return read(l);
  }
}

const PEERS: readonly ((r: string) => string)[] = [
  (r) => r,
  (r) => r,
  (r) => `((${r}) + 1) % world`,
  (r) => `((${r}) - 1) % world`,
  (r) => `world - 1 - (${r})`,
];

/** An element of something that is held. The array that is stored to is left alone. */
function read(l: Loop): Element {
  const { x } = l;
  const { c } = x;
  const arrays = [...x.held.values()].filter((t) => t.text !== l.target.name);
  if (arrays.length === 0) return plain(x.isInteger ? "i32(2)" : "f32(0.5)");
  const computed = arrays.filter((t) => t.role !== "input");
  const array = computed.length > 0 && c.chance(0.7) ? c.pick(computed) : c.pick(arrays);
  if (array.by === "expression") x.crossed.intoLoop = true;
  const places = localShape(array).map((length) => place(l, length));
  const index = (at: readonly string[]): string[] => places.map((p) => p(at));
  const { layout, part, cost } = array;
  const inside = `[${index(l.variables).join(", ")}]`;
  if (layout.kind === "on") {
    const { rank } = layout;
    return { text: `${array.text}@${rank}${inside}`, meaning: (_r, at) => part(String(rank), index(at)), cost };
  }
  const isSameEverywhere = layout.kind === "replicated";
  if ((layout.kind === "partial" || !isSameEverywhere) && c.chance(0.4)) {
    const p = x.fresh("p");
    const op = layout.kind === "partial" ? layout.op : c.pick(["sum", "max", "min"]);
    return {
      text: `(${op}(${p} in ranks) ${array.text}@${p}${inside})`,
      meaning: (_r, at) => {
        const own = x.fresh("p");
        return `(${op}(${own} in ranks) (${part(own, index(at))}))`;
      },
      cost: cost * x.ranks,
    };
  }
  const all =
    l.isSame && !isSameEverywhere ? [() => "0", () => "world - 1"] : l.isSame ? [PEERS[0]!, () => "0"] : PEERS;
  const peer = c.pick(all);
  const at = peer("r") === "r" ? "" : peer("r") === "0" ? "@0" : `@(${peer("rank")})`;
  return { text: `${array.text}${at}${inside}`, meaning: (r, i) => part(peer(r), index(i)), cost };
}

/** An index below a length, of the variables of the loop. */
function place({ x: { c }, lengths, variables }: Loop, length: string): (at: readonly string[]) => string {
  const equal = variables.flatMap((_, d) => (lengths[d] === length ? [d] : []));
  if (equal.length > 0 && c.chance(0.8)) {
    const d = c.pick(equal);
    switch (c.below(6)) {
      case 3:
        return (at) => `((${at[d]}) + 1) % (${length})`;
      case 4:
        return (at) => `${length} - 1 - (${at[d]})`;
      case 5:
        return (at) => `(${at[d]}) / 2`;
      default:
        return (at) => at[d]!;
    }
  }
  if (c.chance(0.3)) return () => c.pick(["0"]);
  const d = c.below(variables.length);
  return (at) => `(${at[d]}) % (${length})`;
}

const indented = (lines: readonly string[]): string[] => lines.map((line) => `  ${line}`);

/** Stores to the whole of what each rank has of an array, or, where it holds something, to a part of it. */
export function fill(x: Body, target: Target, most: number): readonly string[] {
  const { c } = x;
  const lengths = localShape(target);
  const variables = lengths.map(() => x.fresh("j"));
  const { layout, name } = target;
  const old = x.held.get(name);
  const l: Loop = { x, target, variables, lengths, isSame: layout.kind === "replicated" };
  let value = element(l, 2);
  if (old !== undefined && c.chance(0.4)) {
    const rest = value;
    value = {
      text: `${name}[${variables.join(", ")}] + ${rest.text}`,
      meaning: (r, at) => `(${old.part(r, at)} + ${rest.meaning(r, at)})`,
      cost: rest.cost + old.cost,
    };
  } else if (value.cost > most) value = plain(x.isInteger ? "i32(0)" : "f32(0)");
  if (value.cost > most) return [];
  const keep = (part: Part, cost = value.cost): void => hold(x, target, part, cost, "loop");
  const own = value.text.startsWith(`${name}[`);
  const loop = (inside: readonly string[], ranges = lengths): string[] => [
    `for ${variables.join(", ")} in tiles(${ranges.join(", ")}) {`,
    ...indented(inside),
    "}",
  ];
  const stored = (at = "", index = variables): string => `${name}${at}[${index.join(", ")}] = ${value.text}`;
  const { meaning } = value;
  switch (own ? 9 : c.below(7)) {
    case 1: {
      // To another rank; of what only one rank holds, from one.
      if (layout.kind === "on") {
        const from = c.below(x.ranks);
        keep((_r, at) => meaning(String(from), at));
        return [`if rank == ${from} {`, ...indented(loop([stored(`@${layout.rank}`)])), "}"];
      }
      const by = c.below(x.ranks);
      keep((r, at) => meaning(`((${r}) - ${by}) % world`, at));
      return loop([stored(`@((rank + ${by}) % world)`)]);
    }
    case 2: {
      // Turned round.
      const turn = (at: readonly string[]): string[] => at.map((i, d) => (d === 0 ? `${lengths[0]} - 1 - (${i})` : i));
      keep((r, at) => meaning(r, turn(at)));
      return loop([stored("", turn(variables))]);
    }
    case 3: {
      // Some elements, where there is something in the others.
      if (old === undefined) break;
      const condition = (at: readonly string[]): string => `(${at[0]}) % 3 == 1`;
      keep((r, at) => `where(${condition(at)}, ${meaning(r, at)}, ${old.part(r, at)})`, value.cost + old.cost);
      return loop([`if ${condition(variables)} {`, `  ${stored()}`, "}"]);
    }
    case 4: {
      // On one rank, where there is something on the others.
      if (old === undefined || layout.kind === "replicated" || layout.kind === "on") break;
      const only = c.below(x.ranks);
      keep((r, at) => `where((${r}) == ${only}, ${meaning(r, at)}, ${old.part(r, at)})`, value.cost + old.cost);
      return [`if rank == ${only} {`, ...indented(loop([stored()])), "}"];
    }
    case 5: {
      // Each rank makes a piece and gives it to all.
      if (!l.isSame) break;
      const [v, p] = [x.fresh("v"), x.fresh("p")];
      keep(meaning);
      const inside = [`let ${v} = ${value.text}`, `for ${p} in ranks {`, `  ${name}@${p}[${variables.join(", ")}] = ${v}`, "}"]; // prettier-ignore
      return loop(inside, [`chunk(${lengths[0]}, rank)`, ...lengths.slice(1)]);
    }
  }
  if (layout.kind === "on" && (own || c.chance(0.6))) {
    keep((_r, at) => meaning(String(layout.rank), at));
    return [`if rank == ${layout.rank} {`, ...indented(loop([stored()])), "}"];
  }
  keep(meaning);
  return loop([stored()]);
}

function hold(x: Body, { name, layout, shape, type }: Target, part: Part, cost: number, by: Named["by"]): void {
  const made: Named = { text: name, layout, shape, part, cost, role: "target", type, by };
  x.held.set(name, made);
}

/** Stores 0 to all of an array. */
export function clear(x: Body, target: Target): readonly string[] {
  const variables = target.shape.map(() => x.fresh("j"));
  const zero = x.isInteger ? "i32(0)" : "f32(0)";
  hold(x, target, () => zero, 1, "loop");
  return [
    `for ${variables.join(", ")} in tiles(${localShape(target).join(", ")}) {`,
    `  ${target.name}[${variables.join(", ")}] = ${zero}`,
    "}",
  ];
}

/** Assigns a tensor expression to a whole array, whose layout it has, or each rank has all of it. */
export function assign(x: Body, target: Target, value: Tensor): string {
  const part = value.layout.kind === "replicated" ? partIn(target.layout, target.shape, value.part) : value.part;
  hold(x, target, part, value.cost, "expression");
  return `${target.name} = ${value.text}`;
}
