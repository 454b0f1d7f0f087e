/** What is specified of a kernel without rounds: folds of rows are inputs, and what they fold is an output for each. */
import type { Kernel } from "../../ir/module.js";
import type { Specification } from "../../manifest.js";
import type { Span } from "../../source.js";
import { NotShown } from "./conditions.js";
import type { NamedFold } from "./without-rounds.js";

/**
 * The specifications of the outputs, and of what is folded.
 * @param folds those of the kernel, each after those that it is made of: the specification must have as many, in that order
 * @throws NotShown
 */
export function withFolds(
  { specification }: Kernel,
  folds: readonly NamedFold[],
  span: Span,
): Kernel["specification"] {
  const found = new Map<string, { readonly name: string; readonly of: Specification }>();
  const made = new Map<Specification, Specification>();
  const look = (s: Specification): Specification => {
    let other = made.get(s);
    if (other === undefined) made.set(s, (other = make(s)));
    return other;
  };
  const make = (s: Specification): Specification => {
    switch (s.kind) {
      case "input":
      case "constant":
      case "scalar":
        return s;
      case "unary":
      case "cast":
      case "rounded":
        return { ...s, a: look(s.a) };
      case "binary":
      case "compare":
        return { ...s, a: look(s.a), b: look(s.b) };
      case "select":
        return { ...s, condition: look(s.condition), a: look(s.a), b: look(s.b) };
      case "fold": {
        if (s.dim !== 1) throw new NotShown("the answer folds up something else than rows", span);
        const of = look(s.a);
        const key = `${s.fn} ${JSON.stringify(of)}`;
        let known = found.get(key);
        if (known === undefined) {
          const named = folds[found.size];
          if (named?.fold.fn !== s.fn) throw new NotShown("rows are folded up in another way than the answer is", span);
          found.set(key, (known = { name: named.input, of }));
        }
        return { kind: "input", name: known.name };
      }
      default:
        throw new NotShown(`the answer has a '${s.kind}', which goes by places`, span);
    }
  };
  const outputs = specification.map((s) => {
    if (s?.kind === "elements") throw new NotShown("what an element must be is said of ranks", span);
    return s === null ? null : look(s);
  });
  if (found.size !== folds.length) throw new NotShown("rows are folded up that the answer does not have", span);
  return [...outputs, ...[...found.values()].map(({ of }) => of)];
}
