/** What people and programs get wrong outside of programs' texts: graphs in JSON with accidents, and odd command lines. */
import type fc from "fast-check";
import { type Choices, drawn } from "./choices.js";

const ODD: readonly unknown[] = [null, -1, 0, 1, 0.5, 2 ** 53, 1e308, "", "world", "x", "tp", true, [], {}, [0], "__proto__"]; // prettier-ignore

/** A value in JSON and where it stands. */
interface Place {
  readonly holder: Record<string, unknown>;
  readonly key: string;
}

function placesIn(value: unknown): Place[] {
  if (typeof value !== "object" || value === null) return [];
  const holder = value as Record<string, unknown>;
  return Object.keys(holder).flatMap((key) => [{ holder, key }, ...placesIn(holder[key])]);
}

/** A copy of what JSON holds in which one to three things are lost, doubled, or taken for others. */
export function withAccidents(c: Choices, original: unknown): unknown {
  const copy = JSON.parse(JSON.stringify(original)) as unknown;
  for (let n = 1 + c.below(3); n > 0; n--) {
    const places = placesIn(copy);
    if (places.length === 0) break;
    const { holder, key } = c.pick(places);
    const other = c.pick(places);
    switch (c.below(5)) {
      case 0:
        holder[key] = c.pick(ODD);
        break;
      case 1:
        if (Array.isArray(holder)) holder.splice(Number(key), 1);
        else delete holder[key];
        break;
      case 2:
        if (Array.isArray(holder)) holder.splice(Number(key), 0, structuredClone(holder[key]));
        else holder[c.pick(["extra", "op", "dim", "shape"])] = structuredClone(holder[key]);
        break;
      default:
        // Numbers for numbers, lists for lists: most of those can be read.
        if (typeof other.holder[other.key] === typeof holder[key]) holder[key] = structuredClone(other.holder[other.key]); // prettier-ignore
    }
  }
  return copy;
}

const OPTIONS: readonly (readonly [string, readonly string[]])[] = [
  ["--ranks", ["1", "2", "3", "4", "0", "-1", "1e3", "99999999", "2,4", "8..16", ""]],
  ["--dtype", ["f32", "bf16", "i32", "bool", "T=f16", "U=f32", "f8e4m3", "f99", "T=", "=f32", "__proto__=f32"]],
  ["--mesh", ["2x2", "node=2,gpu=2", "1x4", "0x4", "x", "node=2", "2x2x2x2"]],
  ["--reach", ["2x2", "1x4", "4x1", "0x0", "3x1", "all"]],
  ["--sms", ["1", "16", "132", "0", "-3", "x"]],
  ["--mapping", ["{}", '{"transfers":"written"}', '{"threads":64}', '{"threads":-1}', "{", "null", '{"blocks":1e9}']],
  ["--arch", ["sm_80", "sm_90a", "sm_0", "sm_999", ""]],
  ["--dim", ["n=1", "n=0", "n=4096", "n=1Mi", "n=-1", "n", "m=3", "n=9007199254740993", "n=1e3"]],
  ["--stage", ["ast", "tensor", "rank", "device", "cuda", "nothing"]],
  ["--after", ["derive-sync", "vectorize", "choose-algorithms", "lost"]],
  ["--pass-limit", ["0", "1", "7", "99", "-1", "x"]],
  ["--variant", ["main", "0", "two_shot"]],
  ["--seed", ["0", "1", "-1", "9999999999999", "x"]],
  ["--machine", ["h200x4", "h200x2", "lost"]],
];
const FLAGS = ["--json", "--no-locations", "--list-passes", "--strict", "--", "-", "--lost", "-n", "-h"];

export interface CommandLine {
  /** With FILE for the program's. */
  readonly argv: readonly string[];
  readonly text: string;
}

/** Command lines that read one of the texts; most of what is asked for makes sense. */
export function commandLines(texts: fc.Arbitrary<string>): fc.Arbitrary<CommandLine> {
  const lines = drawn((c) => {
    const command = c.pick(["emit", "emit", "explain", "fmt", "check"]);
    const argv = command === "fmt" ? ["fmt", "--check"] : command === "check" ? ["check", "--no-prove"] : [command];
    argv.push(c.chance(0.95) ? "FILE" : c.pick(["", "/", "/dev/null", "lost.coll", "\0", "-"]));
    for (let n = c.below(4); n > 0; n--) {
      if (c.chance(0.2)) argv.push(c.pick(FLAGS));
      else {
        const [option, values] = c.pick(OPTIONS);
        argv.push(option, c.pick(values));
      }
    }
    if (c.chance(0.1)) argv.push(c.pick(["all_reduce", "f", "constructor", ""]));
    return argv;
  });
  return texts.chain((text) => lines.map((argv) => ({ argv, text })));
}
