/** Programs with small accidents: bytes and words that are lost, doubled, or taken for others. */
import fc from "fast-check";

const CHARACTERS = [..."\0\t\\\"'`#$&|;?!~é→\u{1f600}\u2028\ufeff\r\n ()[]{}@.,:<>=+-*/%^_0123456789aTx"];
const WORD = /[A-Za-z_]\w*|\d+(\.\d+)?|[^\s\w]/g;
const KINDS = [/^[a-z_]\w*$/, /^[A-Z]\w*$/, /^\d/, /^[-+*\/%^&]$/, /^[<>=!]=?$/, /./];
const kindOf = (word: string): number => KINDS.findIndex((k) => k.test(word));

const ACCIDENTS = ["swap", "like", "drop", "double", "insert", "cut", "character", "copy"] as const;

interface Accident {
  readonly kind: (typeof ACCIDENTS)[number];
  /** Where, and with what: parts of 2^20, so that they keep their meaning as the text gets shorter. */
  readonly at: number;
  readonly what: number;
}

const part = fc.nat(2 ** 20 - 1);
const accident: fc.Arbitrary<Accident> = fc.record({
  // A word for another of its kind from the same program leaves most of them programs.
  kind: fc.oneof({ weight: 6, arbitrary: fc.constant("swap" as const) }, fc.constantFrom(...ACCIDENTS)),
  at: part,
  what: part,
});

/** Mutants of the sources; words come from all of them. */
export function mutants(sources: readonly string[]): fc.Arbitrary<string> {
  const words = [...new Set(sources.flatMap((s) => s.match(WORD) ?? []))];
  return fc
    .tuple(fc.nat(sources.length - 1), fc.array(accident, { minLength: 1, maxLength: 4 }))
    .map(([source, accidents]) => accidents.reduce((text, a) => happen(text, a, words), sources[source]!));
}

function happen(text: string, { kind, at, what }: Accident, words: readonly string[]): string {
  const place = Math.floor((at / 2 ** 20) * (text.length + 1));
  const length = 1 + (what % 40);
  const of = <T>(all: readonly T[]): T | undefined => all[what % Math.max(1, all.length)];
  const tokens = [...text.matchAll(WORD)];
  const token = tokens[Math.floor((at / 2 ** 20) * tokens.length)];
  const [from, to, word] =
    token === undefined ? [place, place, ""] : [token.index, token.index + token[0].length, token[0]];
  const replaced = (by: string): string => text.slice(0, from) + by + text.slice(to);
  switch (kind) {
    case "swap":
      return replaced(of(tokens.map((t) => t[0]).filter((w) => kindOf(w) === kindOf(word))) ?? "");
    case "like":
      return replaced(of(words.filter((w) => kindOf(w) === kindOf(word))) ?? word);
    case "drop":
      return replaced("");
    case "double":
      return replaced(`${word} ${word}`);
    case "insert":
      return replaced(`${of(words) ?? ""} ${word}`);
    case "cut":
      return text.slice(0, place) + text.slice(place + length);
    case "character":
      return text.slice(0, place) + of(CHARACTERS)! + text.slice(place + (what % 2));
    case "copy":
      return text.slice(0, place) + text.slice(place, place + length) + text.slice(place);
  }
}
