/** What the C of a program is written with: functions of its dimensions, and where its arguments lie. */
import { DTYPES, type Extent, extent, productOf, type SignatureTensor } from "../../compiler/index.js";
import type { ArtefactProgram } from "./manifest.js";

/** Tensors of the arguments, in their order; one of each memory: an input that is changed in place is its own output. */
export const tensorsOf = ({ inputs, outputs, inPlace }: ArtefactProgram): SignatureTensor[] => [
  ...inputs,
  ...outputs.filter(({ name }) => !inPlace.includes(name)),
];

/** A string of C. */
export const quoted = (value: string): string => JSON.stringify(value).replaceAll("?", "\\?");

const SIGNS: Readonly<Record<string, string>> = { add: "+", sub: "-", mul: "*", div: "/", mod: "%" };

/** An extent for people. */
export function shown(e: Extent): string {
  if (typeof e !== "object") return String(e);
  const sign = SIGNS[e.op];
  const of = (part: Extent): string =>
    typeof part === "object" && part.op in SIGNS ? `(${shown(part)})` : shown(part);
  return sign === undefined ? `${e.op}(${shown(e.a)}, ${shown(e.b)})` : `${of(e.a)} ${sign} ${of(e.b)}`;
}

/** An extent over `d`, the dimensions of a launch in order. */
function inC(e: Extent, dims: readonly string[]): string {
  if (typeof e === "number") return `INT64_C(${e})`;
  if (typeof e === "string") return `d[${dims.indexOf(e)}]`;
  const [a, b] = [inC(e.a, dims), inC(e.b, dims)];
  return e.op === "add" || e.op === "sub" || e.op === "mul"
    ? `(${a} ${SIGNS[e.op]!} ${b})`
    : `collc_${e.op}(${a}, ${b})`;
}

/** Functions of the dimensions, each once. */
export class Functions {
  private readonly names = new Map<string, string>();
  constructor(private readonly dims: readonly string[]) {}

  /** @param more what follows the dimensions in `d` */
  of(e: Extent, more: readonly string[] = []): string {
    return this.named("int64_t", inC(e, [...this.dims, ...more]));
  }

  holds(left: Extent, sign: string, right: Extent): string {
    return this.named("int", `${inC(left, this.dims)} ${sign} ${inC(right, this.dims)}`);
  }

  private named(type: string, body: string): string {
    const key = `${type} NAME(const int64_t *d) { (void)d; return ${body}; }`;
    let name = this.names.get(key);
    if (name === undefined) this.names.set(key, (name = `e${this.names.size}`));
    return name;
  }

  text(): string {
    return [...this.names].map(([key, name]) => `static ${key.replace("NAME", name)}\n`).join("");
  }
}

/** Which kernels of one program share an address: all ranks' or this rank's. */
export const isSymmetric = (program: ArtefactProgram, tensor: string): boolean => program.symmetric.includes(tensor);

/** Words of the arguments before each tensor, and before the numbers, which are at the end. */
export function wordsOf(program: ArtefactProgram): { at: number[]; all: number } {
  let all = program.dims.length;
  const at = tensorsOf(program).map(({ name }) => {
    const before = all;
    all += isSymmetric(program, name) ? program.ranks : 1;
    return before;
  });
  return { at, all };
}

/** Bytes of a tensor of this shape. */
export const bytesOf = (shape: readonly Extent[], dtype: keyof typeof DTYPES): Extent =>
  extent("mul", productOf(shape), DTYPES[dtype].bytes);
