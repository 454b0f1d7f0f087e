/** Claims about single elements of i64: closures that give bigints, which wrap at 2^64. */
import { type ElementExpression, freeVariables, InternalCompilerError, REDUCE, toI64 } from "../../compiler/index.js";
import type { Compute, Kind, State } from "./element-operations.js";
import type { InputReader } from "./inputs.js";
import { WIDE_STARTS, wideBinary, wideUnary } from "./wide.js";

/** Results of a reduction that are kept at a time. */
export const MOST_FOLDED = 1 << 16;

/** The claim of which they are a part: what it makes of everything else. */
interface Around {
  readonly state: State;
  readonly scope: string[];
  readonly shared: ReadonlySet<ElementExpression>;
  readonly read: InputReader;
  kind(e: ElementExpression): Kind;
  whole(e: ElementExpression): Compute;
  float(e: ElementExpression): Compute;
  slot(name: string): number;
  place(e: Extract<ElementExpression, { kind: "load" }>): () => { readonly rank: number; readonly offset: number };
}

export class WideClaims {
  private readonly made = new Map<ElementExpression, () => bigint>();

  constructor(private readonly claim: Around) {}

  of(e: ElementExpression): () => bigint {
    let compute = this.made.get(e);
    if (compute === undefined) {
      compute = this.make(e);
      if (this.claim.shared.has(e) || e.kind === "reduce") compute = this.remembered(e, compute);
      this.made.set(e, compute);
    }
    return compute;
  }

  private make(e: ElementExpression): () => bigint {
    if (this.claim.kind(e) !== "i64" || e.kind === "cast") {
      const of = e.kind === "cast" ? e.a : e;
      if (this.claim.kind(of) === "i64") return this.of(of);
      const number = this.claim.kind(of) === "float" ? this.claim.float(of) : this.claim.whole(of);
      return () => toI64(number());
    }
    switch (e.kind) {
      case "unary": {
        const [a, f] = [this.of(e.a), wideUnary(e.fn)];
        return () => f(a());
      }
      case "binary": {
        const [a, b, f] = [this.of(e.a), this.of(e.b), wideBinary(e.fn)];
        return () => f(a(), b());
      }
      case "select": {
        const [condition, a, b] = [this.claim.whole(e.condition), this.of(e.a), this.of(e.b)];
        return () => (condition() !== 0 ? a() : b());
      }
      case "load": {
        const place = this.claim.place(e);
        return () => {
          const { rank, offset } = place();
          return this.claim.read(e.input, rank, offset, offset + 1)[0] as bigint;
        };
      }
      case "reduce": {
        const [from, to] = [this.claim.whole(e.from), this.claim.whole(e.to)];
        const slot = this.claim.slot(e.variable);
        this.claim.scope.push(e.variable);
        const body = this.of(e.body);
        this.claim.scope.pop();
        const f = wideBinary(REDUCE[e.fn].fn);
        const { variables } = this.claim.state;
        return () => {
          const [first, last] = [from(), to()];
          let total: bigint = WIDE_STARTS[e.fn];
          for (let k = first; k < last; k++) {
            variables[slot] = k;
            total = f(total, body());
          }
          return total;
        };
      }
      default:
        throw new InternalCompilerError(`the reference has no '${e.kind}' of i64`);
    }
  }

  private remembered(e: ElementExpression, compute: () => bigint): () => bigint {
    const deciding = [...freeVariables(e)].map((name) => this.claim.slot(name));
    const results = new Map<string, bigint>();
    return () => {
      const key = deciding.map((slot) => this.claim.state.variables[slot]).join(" ");
      let value = results.get(key);
      if (value === undefined) {
        value = compute();
        if (results.size >= MOST_FOLDED) results.clear();
        results.set(key, value);
      }
      return value;
    };
  }
}
