/** `collc check --prove`: proof of the answer and of the ordering, for each world size. */
import {
  compile,
  describeClaims,
  type Claims,
  type DimValues,
  prove,
  PROOF_MAPPING,
  sharedLayout,
  type SourceFile,
} from "../compiler/index.js";
import type { DType } from "../compiler/index.js";
import type { JsonDiagnostic } from "../index.js";
import { type Io, paletteOf } from "./io.js";

export interface ProofRequest {
  readonly collective: string;
  readonly ranks: number;
  readonly dtype?: DType | Readonly<Record<string, DType>>;
  /** One shape to prove; by default some that take every path of the kernel. */
  readonly dims?: DimValues;
}

/** Proves one collective for one world size. Null when it does not compile; its diagnostics say why. */
export function proveCollective(source: SourceFile, request: ProofRequest): Claims | null {
  const compiled = compile(source.text, { file: source.name, mapping: PROOF_MAPPING, ...request });
  if (compiled.kernel === null) return null;
  const shapes = request.dims === undefined ? undefined : [request.dims];
  return prove(compiled, { shapes, shared: sharedLayout(compiled.kernel) });
}

/** Prints the claims; proved ones in green, wrong ones in red with their witness. */
export function printClaims(io: Io, claims: Claims, source: SourceFile): void {
  const c = paletteOf(io.out, io.env);
  const colour = { proved: c.green, wrong: c.red, unknown: c.yellow };
  for (const line of describeClaims(claims, source)) {
    const status = /^ {2}(?:answer|ordering): (proved|wrong|unknown)/.exec(line)?.[1] as
      keyof typeof colour | undefined;
    io.out.write((status === undefined ? line : colour[status](line)) + "\n");
  }
}

/** What is not proved, as `--json` shows it beside the diagnostics. Codes are `proof-race`, `proof-unknown`, … */
export function claimProblems(claims: Claims, source: SourceFile): JsonDiagnostic[] {
  return [claims.answer, claims.ordering].flatMap((a) => {
    if (a.status === "proved") return [];
    const span = (a.status === "wrong" ? a.places[0]?.span : undefined) ?? { start: 0, end: 0 };
    const start = source.position(span.start);
    const end = source.position(span.end);
    return {
      code: `proof-${a.status === "wrong" ? a.kind : "unknown"}`,
      severity: a.status === "wrong" ? ("error" as const) : ("warning" as const),
      message: `${claims.collective} on ${claims.ranks} ranks: ${a.status === "wrong" ? a.message : a.reason}`,
      file: source.name,
      line: start.line,
      column: start.column,
      endLine: end.line,
      endColumn: end.column,
      help: null,
    };
  });
}
