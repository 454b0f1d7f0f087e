/** What `collc check` says. */
import { type Printable, toJson } from "../compiler/index.js";
import type { Diagnosis } from "./check-cases.js";
import { printDiagnostics } from "./diagnostics.js";
import { type Io, paletteOf } from "./io.js";
import { type Inquiry, printInquiry } from "./proofs.js";

/** All that was found in one file. */
export interface FileReport {
  readonly diagnosis: Diagnosis;
  readonly inquiries: readonly Inquiry[];
  /** Diagnostics of the compiler, then what proofs and schedules found. */
  readonly findings: readonly Printable[];
}

export function reportOf(diagnosis: Diagnosis, inquiries: readonly Inquiry[]): FileReport {
  return { diagnosis, inquiries, findings: [...diagnosis.diagnostics, ...eachOnce(inquiries)] };
}

/** One object a finding, then one of severity `info` for what is proved of each collective on each number of ranks. */
export function reportToJson({ diagnosis, inquiries, findings }: FileReport): object[] {
  const { source } = diagnosis;
  const proved = inquiries.flatMap(({ proof }) =>
    proof === null
      ? []
      : [{ code: "proof", severity: "info", message: proof.summary, file: source.name, ...proof.json }],
  );
  const found = findings.map((f) => ({ ...toJson(f, source), ...(f.notes === undefined ? {} : { notes: f.notes }) }));
  return [...found, ...proved];
}

/** @param seed that data and schedules were drawn from */
export function printReport(io: Io, { diagnosis, inquiries, findings }: FileReport, seed: number): void {
  const c = paletteOf(io.out, io.env);
  printDiagnostics(io, findings, diagnosis.source);
  io.out.write(summary(io, diagnosis, findings) + "\n");
  if (inquiries.some((inquiry) => inquiry.findings.some((f) => f.severity === "error")))
    io.out.write(c.dim(`  found with --seed ${seed}, from which data and schedules are drawn`) + "\n");
  for (const { collective, ranks } of diagnosis.skipped)
    io.out.write(
      c.dim(`  ${collective} is not for ${ranksText(ranks)}: its where clause or its mesh leaves them out`) + "\n",
    );
  for (const { collective, meshes } of inquiries.length === 0 ? [] : diagnosis.even) {
    const all = meshes.map((sizes) => sizes.join(" × ")).join(" and ");
    // Of sizes that all differ.
    const telling = meshes[0]!.map((_, i) => i + 2).join("x");
    const why = `where one axis taken for another may not show: --mesh ${telling} looks at it on one where it does`;
    io.out.write(c.dim(`  ${collective} was looked at on ${all} ranks alone, ${why}`) + "\n");
  }
  for (const inquiry of inquiries) printInquiry(io, inquiry);
}

/** What is the same for several worlds is said once, with the worlds that come after. */
function eachOnce(inquiries: readonly Inquiry[]): Printable[] {
  const unique = new Map<string, { readonly finding: Printable; readonly worlds: number[] }>();
  for (const { findings, request } of inquiries)
    for (const f of findings) {
      const places = [f.span, ...f.labels.map((l) => l.span)].map((s) => `${s.start}-${s.end}`);
      // Findings without a place differ in what they say, but for the numbers in it.
      const said = f.span.end === 0 ? f.message.replace(/[-\d.]+/g, "#") : "";
      const key = [request.collective, f.code, ...new Set(places), said].join(" ");
      const known = unique.get(key);
      if (known === undefined) unique.set(key, { finding: f, worlds: [] });
      else if (!known.worlds.includes(request.ranks)) known.worlds.push(request.ranks);
    }
  return [...unique.values()].map(({ finding, worlds }) =>
    worlds.length === 0
      ? finding
      : { ...finding, notes: [...(finding.notes ?? []), `the same is found for ${worlds.join(", ")} ranks`] },
  );
}

function summary(io: Io, { source, worlds, hasCollectives }: Diagnosis, findings: readonly Printable[]): string {
  const c = paletteOf(io.out, io.env);
  const errors = findings.filter((d) => d.severity === "error").length;
  const warnings = findings.length - errors;
  const count = (n: number, what: string): string => `${n} ${what}${n === 1 ? "" : "s"}`;
  const where = worlds.length === 0 ? "" : ` for ${ranksText(worlds)}`;
  if (findings.length > 0)
    return `${errors > 0 ? c.red("✗") : c.yellow("!")} ${source.name}: ${count(errors, "error")}, ${count(warnings, "warning")}${where}`;
  if (!hasCollectives)
    return `${c.green("✓")} ${source.name}: no collective in it; its constants and functions are checked where collectives use them`;
  return `${c.green("✓")} ${source.name}: nothing wrong${where}`;
}

/** "2, 4 ranks", "1 rank". */
function ranksText(ranks: readonly number[]): string {
  return `${ranks.join(", ")} rank${ranks.length === 1 && ranks[0] === 1 ? "" : "s"}`;
}
