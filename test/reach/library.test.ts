/**
 * The whole library on pretended hosts: each file is correct, with the messages between its kernels, or refused, with the reason.
 * `library.txt` is the list; UPDATE_GOLDENS=1 writes it.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import { execute } from "../../src/bench/execute.js";
import { EmulatedGroup } from "../../src/runtime/group-cpu.js";
import { isAll } from "../scope.js";
import { compiledFor, dimsFor, type Hosts, libraryFiles, stepsText } from "./programs.js";

const LIST = new URL("library.txt", import.meta.url);
const HOSTS: readonly Hosts[] = [
  { hosts: 2, gpus: 2 },
  { hosts: 4, gpus: 1 },
  { hosts: 2, gpus: 4 },
];
const isWritten = process.env["UPDATE_GOLDENS"] === "1";
/** Without all tests, one pretence speaks for the others. */
const tried = isAll || isWritten ? HOSTS : HOSTS.slice(0, 1);
const nameOf = ({ hosts, gpus }: Hosts): string => `${hosts}x${gpus}`;

/**
 * Emulated with poisoned memory, every load of what nobody has written an error, and none of what lies beyond the host. Messages that go on beside
 * kernels come no sooner than somebody waits for them.
 */
async function outcome(file: string, hosts: Hosts): Promise<string> {
  const program = compiledFor(file, hosts);
  const errors = program.diagnostics.filter(({ severity }) => severity === "error");
  if (errors.length > 0) return `refused: ${errors.map(({ message }) => message).join("; ")}`;
  const group = new EmulatedGroup(hosts.hosts * hosts.gpus, { detectUnwritten: true, messages: "late" });
  const { check, bitwiseEqualAcrossRanks } = await execute(group, program, dimsFor(program), {
    seed: 1,
    timing: { outer: 1 },
  });
  await group.close();
  const isRight = check.correct && bitwiseEqualAcrossRanks !== false;
  return `${isRight ? "correct" : `WRONG ${JSON.stringify(check.firstMismatch)}`}, ${stepsText(program)}`;
}

const found = new Map<string, string>();

it.each(libraryFiles().filter((_, i) => isAll || isWritten || i % 2 === 0))("%s", async (file) => {
  const lines: string[] = [];
  for (const hosts of tried) lines.push(`  ${nameOf(hosts)}: ${await outcome(file, hosts)}`);
  expect(lines.join("\n")).not.toContain("WRONG");
  found.set(file, [file, ...lines].join("\n"));
  if (!isWritten) for (const line of lines) expect(sections().get(file)?.split("\n")).toContain(line);
});

it("the list has no file that is no more", () => {
  if (isWritten) writeFileSync(LIST, [...found.values()].join("\n\n") + "\n");
  expect([...sections().keys()]).toEqual(libraryFiles());
});

function sections(): Map<string, string> {
  const parts = readFileSync(LIST, "utf8").trimEnd().split("\n\n");
  return new Map(parts.map((part) => [part.slice(0, part.indexOf("\n")), part]));
}
