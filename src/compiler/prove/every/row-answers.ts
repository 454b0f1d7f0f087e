/** What is specified of a kernel without rounds: folds of rows are inputs, and what they fold is an output for each. */
import type { Kernel } from "../../ir/module.js";
import type { ElementExpression, ElementSpecification, OutputSpecification, SignatureTensor, Specification } from "../../manifest.js"; // prettier-ignore
import type { Span } from "../../source.js";
import { isFloat } from "../../types/dtype.js";
import { sameExtent } from "../../types/extent.js";
import { NotShown } from "./conditions.js";
import type { RowFold } from "./row-trees.js";

/** A fold of rows, the input that stands for it and the output that takes what is folded. */
export interface NamedFold {
  readonly fold: RowFold;
  readonly input: string;
  readonly output: string;
}

type Fold = Extract<Specification, { kind: "fold" }>;

/** Folds of a specification, in the order in which they are made: those of the kernel, one for one. */
class Folds<S> {
  private readonly found = new Map<string, { readonly name: string; readonly of: S }>();

  constructor(
    private readonly named: readonly NamedFold[],
    private readonly span: Span,
  ) {}

  /** The name of the input that stands for a fold. @throws NotShown */
  nameOf({ fn, dim }: Fold, of: S): string {
    if (dim !== 1) throw new NotShown("the answer folds up something else than rows", this.span);
    const key = `${fn} ${JSON.stringify(of)}`;
    let known = this.found.get(key);
    if (known === undefined) {
      const named = this.named[this.found.size];
      if (named?.fold.fn !== fn) throw new NotShown("rows are folded up in another way than the answer has it", this.span); // prettier-ignore
      this.found.set(key, (known = { name: named.input, of }));
    }
    return known.name;
  }

  /** What is folded. @throws NotShown */
  all(): readonly S[] {
    if (this.found.size !== this.named.length) throw new NotShown("rows are folded up that the answer does not have", this.span); // prettier-ignore
    return [...this.found.values()].map(({ of }) => of);
  }
}

function refused({ kind }: OutputSpecification, span: Span): NotShown {
  const reason = kind === "elements" ? "what an element must be is said of ranks" : `the answer has a '${kind}', which goes by places`; // prettier-ignore
  return new NotShown(reason, span);
}

/** What is made of each specification, once. */
function once<T>(make: (s: Specification) => T): (s: Specification) => T {
  const made = new Map<Specification, T>();
  return (s) => {
    let known = made.get(s);
    if (known === undefined) made.set(s, (known = make(s)));
    return known;
  };
}

/**
 * The specifications of the outputs, and of what is folded, where ranks have whole rows.
 * @param named folds of the kernel, each after those that it is made of: the specification must have as many, in that order
 * @throws NotShown
 */
export function withFolds(
  { specification }: Kernel,
  named: readonly NamedFold[],
  _rows: SignatureTensor,
  span: Span,
): Kernel["specification"] {
  const folds = new Folds<Specification>(named, span);
  const look: (s: Specification) => Specification = once((s: Specification): Specification => {
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
      case "fold":
        return { kind: "input", name: folds.nameOf(s, look(s.a)) };
      default:
        throw refused(s, span);
    }
  });
  const outputs = specification.map((s) => {
    if (s?.kind === "elements") throw refused(s, span);
    return s === null ? null : look(s);
  });
  return [...outputs, ...folds.all()];
}

const PLACE = ["i", "j"].map((name): ElementExpression => ({ kind: "variable", name }));

/**
 * The same where rows are cut among ranks: of the elements of one place on each rank. A row folds to what the folds of its parts on all ranks fold to.
 * @param rows a tensor that is cut so
 * @throws NotShown
 */
export function withParts(
  { specification, inputs, outputs, world }: Kernel,
  named: readonly NamedFold[],
  rows: SignatureTensor,
  span: Span,
): Kernel["specification"] {
  const isCutSo = ({ layout, localShape, shape }: SignatureTensor): boolean =>
    layout.kind === "sharded" &&
    layout.dim === 1 &&
    layout.axis === undefined &&
    shape.length === 2 &&
    localShape.every((e, d) => sameExtent(e, rows.localShape[d]!));
  if (!outputs.every(isCutSo)) throw new NotShown("what is made of parts of rows is no part of rows", span);
  const folds = new Folds<ElementExpression>(named, span);
  const look: (s: Specification) => ElementExpression = once((s: Specification): ElementExpression => {
    switch (s.kind) {
      case "input":
        if (!isCutSo(inputs.find((t) => t.name === s.name)!)) throw new NotShown(`'${s.name}' is not cut as rows are`, span); // prettier-ignore
        return { kind: "load", input: s.name, peer: null, indices: PLACE };
      case "constant":
      case "scalar":
        return s;
      case "unary":
      case "cast":
        return { ...s, a: look(s.a) };
      case "rounded":
        // Of floats: the mathematics of the answer does not round.
        if (!isFloat(s.dtype)) throw refused(s, span);
        return look(s.a);
      case "binary":
      case "compare":
        return { ...s, a: look(s.a), b: look(s.b) };
      case "select":
        return { ...s, condition: look(s.condition), a: look(s.a), b: look(s.b) };
      case "fold": {
        if (s.fn === "mean") throw new NotShown("the answer has a mean of a row that is cut", span);
        const [p, name] = ["p", folds.nameOf(s, look(s.a))];
        const body: ElementExpression = { kind: "load", input: name, peer: { kind: "variable", name: p }, indices: PLACE }; // prettier-ignore
        const [from, to] = [0, world].map((value): ElementExpression => ({ kind: "constant", value }));
        return { kind: "reduce", fn: s.fn, variable: p, from: from!, to: to!, body };
      }
      default:
        throw refused(s, span);
    }
  });
  const whole = (value: ElementExpression): ElementSpecification => ({ kind: "elements", variables: ["i", "j"], value }); // prettier-ignore
  const answers = specification.map((s) => {
    if (s?.kind === "elements") throw refused(s, span);
    return s === null ? null : whole(look(s));
  });
  return [...answers, ...folds.all().map(whole)];
}
