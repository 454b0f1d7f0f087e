/** `collc lsp` as it is installed. */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createMessageConnection, StreamMessageReader, StreamMessageWriter } from "vscode-jsonrpc/node";
import { collc, entry, isBuilt } from "../cli/support.js";

test("the command is there", async () => {
  expect((await collc(["lsp", "--help"])).out).toContain("Language Server Protocol");
});

const hasServer = isBuilt && (existsSync(join(entry, "../lsp.js")) || process.env["CI"] === "true");

test.skipIf(!hasServer)("the built command serves an editor and ends with it", async () => {
  const child = spawn(process.execPath, [entry, "lsp", "--stdio"], { stdio: ["pipe", "pipe", "inherit"] });
  const ended = new Promise((done) => child.once("close", done));
  const connection = createMessageConnection(
    new StreamMessageReader(child.stdout),
    new StreamMessageWriter(child.stdin),
  );
  connection.listen();
  const answer = await connection.sendRequest("initialize", { processId: null, rootUri: null, capabilities: {} });
  expect(answer).toMatchObject({ serverInfo: { name: "collc" } });
  await connection.sendRequest("shutdown");
  await connection.sendNotification("exit");
  expect(await ended).toBe(0);
  connection.dispose();
});
