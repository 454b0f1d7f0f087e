/** Did you mean …? For words of the command line. */
import { nearest as nearestExactly } from "../compiler/index.js";

/** The nearest of `names`, whatever the case, if one is near enough that a typing error explains it. */
export function nearest(word: string, names: readonly string[]): string | null {
  const exact = names.find((name) => name.toLowerCase() === word.toLowerCase());
  if (exact !== undefined) return exact;
  const found = nearestExactly(
    word.toLowerCase(),
    names.map((name) => name.toLowerCase()),
  );
  return found === null ? null : names.find((name) => name.toLowerCase() === found)!;
}

/**
 * "did you mean 'x'?", or what there is.
 * @param what the names are, of several
 */
export function suggestion(word: string, names: readonly string[], what: string): string {
  const near = nearest(word, names);
  if (near !== null) return `did you mean '${near}'?`;
  if (names.length === 0) return `there are no ${what}`;
  return names.length === 1 ? `there is only '${names[0]}'` : `${what}: ${names.join(", ")}`;
}
