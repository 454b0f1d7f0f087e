/** What is known at a place of a program that is being written: arrays, names of values, functions. */
import type { Choices } from "./choices.js";

/**
 * What a layout says of each axis of the mesh, or, without one, of all ranks: `R` replicated, `L` local, `S0` cut along dimension 0,
 * `Psum` summands, `O1` on the first axis' rank 1. `L` stands for all axes or for none.
 */
export type Layout = readonly string[];
/** Lengths as they are written. */
export type Shape = readonly string[];

export interface Held {
  readonly name: string;
  /** `T`, or the name of a dtype. */
  readonly dtype: string;
  readonly layout: Layout;
  readonly shape: Shape;
  readonly role: "input" | "output" | "scratch" | "value";
  /** Whether everything of it has been stored to. */
  isFull: boolean;
  /** Tensor expressions assign once. */
  isAssigned: boolean;
}

/** The dtypes that elements are computed in. */
export type Computed = "f32" | "i32" | "u32" | "i64";

interface Named {
  readonly name: string;
  readonly kind: Computed | "index" | "condition" | "rank";
  /** Of a loop's variable, what it is below. */
  readonly below?: string;
  /** It was made of a number of the launch. */
  readonly isGiven?: boolean;
}

export interface Func {
  readonly name: string;
  readonly arity: number;
  readonly of: "index" | "element" | "condition";
}

export interface Scope {
  readonly c: Choices;
  readonly ranks: number;
  /** Empty without a mesh. */
  readonly axes: readonly { readonly name: string; readonly length: number }[];
  /** What elements of T are computed in. */
  readonly family: Computed;
  readonly held: Held[];
  /** Names of numbers and conditions, the inner ones last. */
  readonly named: Named[];
  readonly functions: readonly Func[];
  readonly constants: readonly string[];
  /** Numbers of the launch. */
  readonly scalars: { readonly name: string; readonly dtype: Computed }[];
  /** The array that a loop stores to, which nothing in it reads; what would be indices or conditions of `if` takes no number of the launch. */
  target: Held | null;
  isSteering: boolean;
  readonly fresh: (prefix: string) => string;
  /** What a rule of the grammar reads: as `typed` says or, as often as the dial says, anything that the grammar allows. */
  readonly hole: (rule: string, typed: () => string) => string;
}

/** Whether the signature has the dtype variable T so far. */
export const hasT = (x: Scope): boolean =>
  x.held.some((a) => a.dtype === "T" && (a.role === "input" || a.role === "output"));

export const LENGTHS: readonly string[] = ["n", "m", "k"];

/** What elements of a dtype are computed in; null for conditions. */
export function computedIn(dtype: string, family: Computed): Computed | null {
  if (dtype === "bool") return null;
  if (dtype === "T" || dtype === "accumulator(T)") return family;
  if (dtype === "i64" || dtype === "u32") return dtype;
  return dtype === "i32" || dtype === "i8" ? "i32" : dtype === "u8" ? "u32" : "f32";
}

/** The text of a layout. */
export function written({ axes, c }: Scope, layout: Layout): string {
  const one = (said: string, axis: string): string => {
    const inside = [said.slice(1), axis].filter((s) => s !== "").join(", ");
    const name = { R: "replicated", S: "sharded", P: "partial", O: "on", L: "local" }[said[0]!]!;
    return inside === "" ? name : `${name}(${inside})`;
  };
  if (layout[0] === "L") return "local";
  const isEqual = layout.every((s) => s === layout[0]) && !layout[0]!.startsWith("O");
  if (axes.length === 0 || (isEqual && c.chance(0.3))) return one(layout[0]!, "");
  return axes.map(({ name }, at) => one(layout[at]!, name)).join(" ");
}

/** Lengths of what one rank holds. */
export function localShape({ axes }: Scope, { layout, shape }: Pick<Held, "layout" | "shape">): Shape {
  return shape.map((length, d) =>
    layout.reduce((l, said, at) => {
      if (said !== `S${d}`) return l;
      const whole = /^\w+( \/ [\w.]+)*$/.test(l) ? l : `(${l})`;
      return `${whole} / ${axes.length === 0 ? "world" : `world.${axes[at]!.name}`}`;
    }, length),
  );
}

export const isSame = (a: readonly string[], b: readonly string[]): boolean => a.join() === b.join();

/** Runs `write` in a block of its own: names that it makes are gone afterwards. */
export function block<T>(x: Scope, write: () => T): T {
  const known = x.named.length;
  const made = write();
  x.named.length = known;
  return made;
}

export function newInput(x: Scope, dtype: string, layout: Layout, shape: Shape): Held {
  const made: Held = { name: x.fresh("x"), dtype, layout, shape, role: "input", isFull: true, isAssigned: false };
  x.held.push(made);
  return made;
}

/** Any layout that a tensor of this shape may have. */
export function someLayout(x: Scope, shape: Shape, canBeSame = true): Layout {
  const { c, axes } = x;
  if (c.chance(0.3)) return [...(axes.length === 0 ? [0] : axes)].map(() => "L");
  const op = c.pick(["sum", "sum", "max", "min", "avg", "prod"]);
  const cuts = shape.flatMap((length, d) => (/^[nmk]$|^12$/.test(length) ? [`S${d}`] : []));
  const saids = [...(canBeSame ? ["R", "R"] : []), ...cuts, ...cuts, `P${op}`];
  if (axes.length === 0) return [c.pick([...saids, `O${c.below(x.ranks)}`])];
  return axes.map(() => (saids.length === 0 ? "L" : c.pick(saids)));
}
