/** A collective of one's own from TypeScript: written as text, compiled, run on four emulated ranks, and looked at. */
import { pathToFileURL } from "node:url";
import { compile, connect, printDiagnostics } from "collc";

const SOURCE = `
/// The largest of all ranks' elements, and what is left of this rank's without it.
collective headroom(x: T[n] partial(max)) -> (top: T[n] replicated, left: T[n] local) {
  for i in tiles(n) {
    let most = max(p in ranks) x@p[i]
    top[i] = most
    left[i] = most - x[i]
  }
}
`;

export async function main(print: (line: string) => void = console.log): Promise<void> {
  const group = await connect({ backend: "cpu", ranks: 4 }); // "cuda" in a process that a launcher started as a rank
  const compiled = compile(SOURCE, { file: "headroom.coll", ranks: group.world, dtype: "f32" });
  if (compiled.cuda === null) throw new Error(printDiagnostics(compiled.diagnostics, compiled.source));
  const kernel = await group.load(compiled);

  const n = 1000;
  const x = await group.symmetric("f32", [n]); // peers read it, so it lies in symmetric memory
  const [top, left] = [await group.symmetric("f32", [n]), await group.symmetric("f32", [n])];
  for (const rank of group.localRanks)
    x.write(
      Float32Array.from({ length: n }, (_, i) => (i * (rank + 1)) % 7),
      rank,
    );
  await kernel.run({ x, top, left }, { n });

  const [tops, lefts] = [await top.read(), await left.read()];
  print(`the largest of element 5: ${tops[5]}; rank 0 is ${lefts[5]} below it`);
  print(`peers reach ${compiled.manifest!.symmetric.join(", ")}; ${compiled.cuda.split("\n").length > 50 ? "CUDA text is there, too" : "no CUDA text"}`); // prettier-ignore
  await group.close();
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) await main();
