/** Indices, elements and conditions whose types fit. */
import { computedIn, type Computed, hasT, type Held, isSame, localShape, newInput, type Scope } from "./typed-scope.js";

const paired = (a: string, operator: string, b: string): string => `${a} ${operator} ${b}`;

/** The names of a kind that are known here. */
function namesOf(x: Scope, kind: string): string[] {
  return x.named.filter((v) => v.kind === kind && !(x.isSteering && v.isGiven === true)).map((v) => v.name);
}

/** Runs `write` where no number of the launch may stand. */
function steering<T>(x: Scope, write: () => T): T {
  const before = x.isSteering;
  x.isSteering = true;
  const made = write();
  x.isSteering = before;
  return made;
}

// -- indices -----------------------------------------------------------------------------------------

export function index(x: Scope, depth: number): string {
  return x.hole("expression", () => steering(x, () => x.c.pick(indexWays(x, depth))()));
}

/** What may stand in other expressions without parentheses. */
const whole = (text: string): string => (/^[\w.]+$/.test(text) ? text : `(${text})`);

/** Lengths that the signature has; what the launch gives. */
function dims(x: Scope): string[] {
  return [...new Set(x.held.flatMap((a) => a.shape).flatMap((length) => length.match(/\b[nmk]\b/g) ?? []))];
}

function indexWays(x: Scope, depth: number): readonly (() => string)[] {
  const { c } = x;
  const names = [...namesOf(x, "index"), ...namesOf(x, "rank"), ...dims(x), ...x.constants];
  const ways: (() => string)[] = [
    () => (names.length > 0 ? c.pick(names) : "rank"),
    () => c.pick(["rank", "world"]),
    () => String(c.below(8)),
  ];
  if (x.axes.length > 0) ways.push(() => `${c.pick(["rank", "world"])}.${c.pick(x.axes).name}`);
  if (depth <= 0) return ways;
  const again = (): string => index(x, depth - 1);
  ways.push(
    () => paired(again(), c.pick(["+", "-", "*"]), again()),
    () => paired(again(), "+", again()),
    () => paired(whole(again()), c.pick(["/", "%"]), c.pick(["2", "3", "world", "64"])),
    () => paired(whole(again()), c.pick(["&", "<<", ">>"]), c.pick(["1", "2"])),
    () => paired(whole(again()), "^", c.pick(["1", whole(again())])),
    () => `${c.pick(["min", "max"])}(${again()}, ${again()})`,
    () => `(${again()})`,
    () => `${c.pick(["chunk", "shard"])}(64 * world, ${peer(x)}).${c.pick(["start", "end", "length"])}`,
    () => `chunk(${again()}, 0, ${c.pick(["2", "world"])}).${c.pick(["start", "end", "length"])}`,
    () => `log2(${c.pick(["world", "8", "64"])})`,
    () => `-${whole(again())}`,
    () => reduced(x, "index", depth),
    ...called(x, "index", again),
    () => `index(${element(x, "i32", depth - 1)})`,
  );
  return ways;
}

/** The number of a rank. */
export function peer(x: Scope): string {
  const { c } = x;
  const names = namesOf(x, "rank");
  const ways = [() => "rank", () => String(c.below(x.ranks)), () => `(rank + ${c.below(4)}) % world`, () => "(rank - 1) % world", () => "world - 1 - rank"]; // prettier-ignore
  if (names.length > 0)
    ways.push(
      () => c.pick(names),
      () => c.pick(names),
    );
  const next = x.functions.find((f) => f.name === "next");
  if (next !== undefined) ways.push(() => "next(rank)");
  if (c.chance(0.15)) ways.push(() => `${whole(index(x, 1))} % world`);
  return c.pick(ways)();
}

/** Where another rank's array is named. */
export function at(rank: string): string {
  return `@${/^\w+$|^\w+\(\w+\)$/.test(rank) ? rank : `(${rank})`}`;
}

/** An index below a length. */
export function inside(x: Scope, length: string): string {
  const { c } = x;
  return x.hole("expression", () => {
    const loops = x.named.filter((v) => v.below === length).map((v) => v.name);
    const last = `${whole(length)} - 1`;
    if (loops.length > 0 && c.chance(0.75))
      return c.chance(0.75) ? c.pick(loops) : c.pick([`${last} - ${c.pick(loops)}`, `(${c.pick(loops)} + 1) % ${whole(length)}`, `${c.pick(loops)} / 2`]); // prettier-ignore
    return c.chance(0.3) ? c.pick(["0", last]) : `${whole(index(x, 1))} % ${whole(length)}`;
  });
}

// -- elements ----------------------------------------------------------------------------------------

export function element(x: Scope, type: Computed, depth: number): string {
  return x.hole("expression", () => x.c.pick(elementWays(x, type, depth))());
}

function elementWays(x: Scope, type: Computed, depth: number): readonly (() => string)[] {
  const { c } = x;
  const names = [...namesOf(x, type), ...(x.isSteering ? [] : x.scalars.filter((s) => s.dtype === type).map((s) => s.name))]; // prettier-ignore
  const ways: (() => string)[] = [() => read(x, type), () => read(x, type)];
  if (names.length > 0) ways.push(() => c.pick(names));
  if (depth <= 0) return ways;
  const again = (): string => element(x, type, depth - 1);
  const isFloat = type === "f32";
  ways.push(
    () => paired(again(), c.pick(["+", "-", "*"]), again()),
    () => paired(again(), c.pick(["+", "*"]), c.pick(["2", "3", ...(isFloat ? ["0.5", "1e-3"] : []), ...x.constants])),
    () => paired(whole(again()), "/", isFloat ? c.pick(["2", "0.5"]) : "3"),
    () => `(${again()})`,
    () => `-${whole(again())}`,
    () => `${c.pick(["min", "max"])}(${again()}, ${again()})`,
    () => `${c.pick(["abs", "relu"])}(${again()})`,
    () => `where(${condition(x, depth - 1)}, ${again()}, ${again()})`,
    () => reduced(x, type, depth),
    () => `${type}(${c.chance(0.5) ? index(x, depth - 1) : condition(x, depth - 1)})`,
    () => `${type}(${element(x, c.pick(["f32", "i32", "u32", "i64"] as const), depth - 1)})`,
    ...called(x, "element", again),
  );
  if (type === x.family && hasT(x)) ways.push(() => `T(${again()})`);
  if (isFloat)
    ways.push(
      () => `${c.pick(["exp", "exp2", "expm1", "tanh", "erf", "sin", "cos", "gelu", "silu", "sigmoid", "floor", "ceil", "round", "trunc"])}(${again()})`, // prettier-ignore
      () => `${c.pick(["sqrt", "rsqrt", "log", "log1p"])}(abs(${again()}) + 1)`,
      () => `pow(abs(${again()}), 1.5)`,
    );
  return ways;
}

/** An element of something that is held; without anything, of a new input. */
function read(x: Scope, type: Computed): string {
  const { c } = x;
  const of = x.held.filter((a) => a.isFull && a !== x.target && computedIn(a.dtype, x.family) === type && isReadable(x, a)); // prettier-ignore
  if (of.length === 0 && type !== x.family) return `${type}(${c.chance(0.5) ? read(x, x.family) : index(x, 0)})`;
  const isNew = of.length === 0 || (c.chance(0.15) && x.held.filter((a) => a.role === "input").length < 4);
  const local = x.axes.length === 0 ? ["L"] : x.axes.map(() => "L");
  const shape = x.target?.shape.every((l) => /^\w+$/.test(l)) === true && c.chance(0.7) ? x.target.shape : ["n"];
  return elementOf(x, isNew ? newInput(x, type === x.family && c.chance(0.8) ? "T" : type, local, shape) : c.pick(of));
}

/** What is on a rank of each row is hard to name. */
const isReadable = (x: Scope, a: Held): boolean => x.axes.length === 0 || !a.layout.some((s) => s.startsWith("O"));

function elementOf(x: Scope, a: Held): string {
  const { c } = x;
  const holder = a.layout.find((s) => s.startsWith("O"))?.slice(1);
  const where = holder !== undefined ? `@${holder}` : c.chance(0.35) ? at(peer(x)) : "";
  return `${a.name}${where}[${localShape(x, a).map((length) => inside(x, length)).join(", ")}]`; // prettier-ignore
}

/** A reduction over ranks or a range. */
function reduced(x: Scope, kind: Computed | "index" | "condition", depth: number): string {
  const { c } = x;
  const name = x.fresh("q");
  const op = kind === "condition" ? c.pick(["min", "max"]) : kind === "f32" ? c.pick(["sum", "avg", "min", "max", "prod"]) : c.pick(["sum", "sum", "min", "max"]); // prettier-ignore
  const over = domain(x, name);
  const known = x.named.length;
  x.named.push(over.variable);
  const of = kind === "index" ? index(x, depth - 1) : kind === "condition" ? condition(x, depth - 1) : element(x, kind, depth - 1); // prettier-ignore
  x.named.length = known;
  return `${op}(${name} in ${over.text}) ${/^[\w.]+(\(\w+\)|@\w+)?(\[[^[\]()]*\])?$/.test(of) ? of : `(${of})`}`;
}

interface Domain {
  readonly text: string;
  readonly variable: Scope["named"][number];
}

/** Ranks, or indices in order, with the variable that takes their values. */
export function domain(x: Scope, name: string): Domain {
  const { c, axes } = x;
  const lengths = [...new Set(x.held.filter((a) => isSame(a.layout, a.layout.map(() => "L"))).flatMap((a) => a.shape))]; // prettier-ignore
  const length = lengths.length > 0 ? c.pick(lengths) : "8";
  const row = axes.length > 0 && c.chance(0.6) ? `(${c.pick(axes).name})` : "";
  const made = c.pick<[string, "rank" | "index", string?]>([
    [`ranks${row}`, "rank"],
    [`peers${row}`, "rank"],
    [`0..${c.pick(["2", "3", "world"])}`, "index"],
    [`${c.below(2)}..${c.pick(["rank + 1", "log2(world) + 2", "4"])}`, "index"],
    [`0..${whole(length)}`, "index", length],
    [`chunk(${length}, ${peer(x)})`, "index", length],
    [`chunk(${length}, ${c.pick(["0", "1"])}, 3)`, "index", length],
    ["shard(4 * world, rank)", "index"],
  ]);
  return {
    text: x.hole("domain", () => made[0]),
    variable: { name, kind: made[1], ...(made[2] && { below: made[2] }) },
  };
}

/** Calls of the file's functions. */
function called(x: Scope, of: "index" | "element" | "condition", argument: () => string): (() => string)[] {
  const known = x.functions.filter((f) => f.of === of);
  return known.map((f) => () => `${f.name}(${Array.from({ length: f.arity }, argument).join(", ")})`);
}

// -- conditions --------------------------------------------------------------------------------------

const COMPARISONS = ["==", "!=", "<", "<=", ">", ">="] as const;

export function condition(x: Scope, depth: number): string {
  return x.hole("expression", () => x.c.pick(conditionWays(x, depth))());
}

function conditionWays(x: Scope, depth: number): readonly (() => string)[] {
  const { c } = x;
  const names = namesOf(x, "condition");
  const ways: (() => string)[] = [
    () => paired(index(x, depth - 1), c.pick(COMPARISONS), index(x, depth - 1)),
    () => paired(element(x, x.family, depth - 1), c.pick(COMPARISONS), c.pick(["1", "0", "3"])),
  ];
  if (names.length > 0) ways.push(() => c.pick(names));
  const bools = x.held.filter((a) => a.dtype === "bool" && a.isFull && a !== x.target && isReadable(x, a));
  if (bools.length > 0) ways.push(() => elementOf(x, c.pick(bools)));
  if (depth <= 0) return ways;
  const again = (): string => condition(x, depth - 1);
  ways.push(
    () => paired(again(), "and", again()),
    () => paired(again(), "or", again()),
    () => `not ${again()}`,
    () => `(${again()})`,
    () => `(${again()}) ${c.pick(["==", "!="])} (${again()})`,
    () => `bool(${element(x, x.family, depth - 1)})`,
    () => reduced(x, "condition", depth),
    ...called(x, "condition", () => element(x, x.family, depth - 1)),
  );
  return ways;
}

/** A condition of an `if`, which no number of the launch decides. */
export function deciding(x: Scope, depth: number): string {
  return steering(x, () => condition(x, depth));
}
