// The run for people: versions, GPUs, a table, and what failed.

const verdict = ({ ok }) => (ok === null ? "not run" : ok ? "passed" : "FAILED");

/** Markdown of rows {suite, world, name, ok, ms, detail} and the machine's report. */
export function summaryOf({ machine, rows, seconds, env }) {
  const { capabilities } = machine;
  const versionOf = (library) => library?.version ?? `not found (${library?.error?.split("\n")[0]})`;
  const lines = ["# Backends on GPUs", ""];
  lines.push(`- GPUs: ${capabilities?.devices?.map((device) => device.name).join(", ") ?? capabilities?.error}`);
  lines.push(`- driver: ${capabilities?.driver?.nvidia ?? "?"}, CUDA ${capabilities?.driver?.cuda ?? "?"}`);
  for (const name of ["nvrtc", "nccl", "nvshmem"]) lines.push(`- ${name}: ${versionOf(machine[name])}`);
  lines.push(
    `- node: ${machine.node}`,
    `- set for all: ${Object.entries(env)
      .map((e) => e.join("="))
      .join(" ")}`,
  );
  lines.push(
    `- ${rows.filter((row) => row.ok).length} passed, ${rows.filter((row) => row.ok === false).length} failed, ` +
      `${rows.filter((row) => row.ok === null).length} not run, in ${Math.round(seconds)} s`,
    "",
  );
  lines.push("| suite | ranks | passed | failed | not run |", "|---|---|---|---|---|");
  const keys = [...new Set(rows.map((row) => `${row.suite}|${row.world}`))];
  for (const key of keys) {
    const [suite, world] = key.split("|");
    const some = rows.filter((row) => row.suite === suite && String(row.world) === world);
    const count = (ok) => some.filter((row) => row.ok === ok).length;
    lines.push(`| ${suite} | ${world} | ${count(true)} | ${count(false)} | ${count(null)} |`);
  }
  const failed = rows.filter((row) => row.ok === false);
  if (failed.length > 0) lines.push("", "## What failed", "");
  for (const { suite, world, name, detail } of failed) {
    lines.push(`### ${suite}, ${world} ranks: ${name}`, "", "```", String(detail).slice(0, 3000), "```", "");
  }
  lines.push("", "## All cases", "", "| suite | ranks | case | outcome | ms | said |", "|---|---|---|---|---|---|");
  for (const row of rows) {
    const said = row.ok !== false ? String(row.detail).replaceAll("\n", " ").replaceAll("|", "/") : "";
    lines.push(`| ${row.suite} | ${row.world} | ${row.name} | ${verdict(row)} | ${row.ms} | ${said} |`);
  }
  return lines.join("\n") + "\n";
}
