/** Where the store of a run listens, and a name of its host that leads nowhere. Names are looked up in a list of this file's. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { networkInterfaces } from "node:os";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { LauncherInfo } from "../../src/runtime/env.js";
import { joinGroup } from "../../src/runtime/bootstrap.js";
import { openStore } from "../../src/runtime/open-store.js";
import { parseHosts, storePlace } from "../../src/runtime/remote-hosts.js";
import { hostStore } from "../../src/runtime/store.js";
import { storeAddressOf } from "../../src/runtime/store-address.js";
import { listenAddresses } from "../../src/runtime/store-host.js";
import { rejection } from "./helpers.js";

/** As Debian writes the hosts of a machine called nodea. `late` has its address from the third look-up on. */
const names: Readonly<Record<string, readonly string[]>> = {
  localhost: ["127.0.0.1"],
  "127.0.0.1": ["127.0.0.1"],
  nodea: ["127.0.1.1"],
  nodea6: ["::1"],
  nodeb: ["192.0.2.7"],
  late: ["127.0.1.1"],
};
let lookups = 0;

vi.mock("node:dns/promises", () => ({
  lookup: (name: string) => {
    lookups++;
    const found = name === "late" && lookups < 3 ? undefined : names[name];
    if (found !== undefined) return Promise.resolve(found.map((address) => ({ address, family: 4 })));
    return Promise.reject(Object.assign(new Error(`getaddrinfo EAI_AGAIN ${name}`), { code: "EAI_AGAIN" }));
  },
}));

beforeEach(() => void (lookups = 0));
afterEach(() => vi.unstubAllEnvs());

const env = { COLLC_STORE_SECRET: "of this test" };
const everywhere = ["::", "0.0.0.0"];
let port = 21_000 + (process.pid % 8000);

const rankOf = (rank: number, masterAddr: string, localWorld: number | null): LauncherInfo => ({
  ...{ launcher: "torchrun", rank, world: 2, localRank: 0, localWorld, masterAddr, masterPort: port, runId: "r" },
});

/** Whether something listens at this address, on the first of the run's ports. */
async function answers(host: string, info: LauncherInfo): Promise<boolean> {
  const socket: Socket = connect(storeAddressOf(info, env).ports[0]!, host);
  const isThere = await once(socket, "connect").then(
    () => true,
    () => false,
  );
  socket.destroy();
  return isThere;
}

describe("the store of rank 0", () => {
  test.each([
    ["ranks may be on other hosts", 1, true],
    ["nobody says where ranks are", null, true],
    ["all ranks are on this host", 2, false],
  ])("where its host's name is the loopback's and %s", async (_, localWorld, isOpen) => {
    port += 20;
    const info = rankOf(0, "nodea", localWorld);
    const { store, server } = await openStore(info, env, 1000, undefined, () => {});
    expect(await answers("127.0.1.1", info)).toBe(true);
    // Any other address of this machine stands for the one by which other hosts know it.
    expect(await answers("127.0.0.1", info)).toBe(isOpen);
    const outer = Object.values(networkInterfaces()).flatMap((list) => list ?? []).find(({ internal, family }) => !internal && family === "IPv4"); // prettier-ignore
    if (outer !== undefined) expect(await answers(outer.address, info)).toBe(isOpen);
    await store.close();
    await server!.close();
  });

  test("listens where a name or an address says, and everywhere where it says nothing of this machine", () => {
    const at = (host: string, isOneHost = false): readonly string[] => listenAddresses(host, names[host]!, isOneHost);
    expect(at("localhost")).toEqual(["127.0.0.1"]);
    expect(at("127.0.0.1")).toEqual(["127.0.0.1"]);
    expect(at("nodea")).toEqual(everywhere);
    expect(at("nodea6")).toEqual(everywhere);
    expect(at("nodea6", true)).toEqual(["::1"]);
    expect(at("nodeb")).toEqual(everywhere);
  });

  test("takes IPv4 where there is no IPv6", async () => {
    const server = await hostStore({ world: 1, secret: "s", runId: "r", host: ["192.0.2.7", "127.0.0.1"] });
    expect(server.port).toBeGreaterThan(0);
    await server.close();
    const refused = await rejection(hostStore({ world: 1, secret: "s", runId: "r", host: ["192.0.2.7", "192.0.2.8"] }));
    expect(refused.message).toMatch(/cannot listen on 192\.0\.2\.8 \(port 0: EADDRNOTAVAIL\)/);
  });

  test("of collc run --hosts is on all interfaces where MASTER_ADDR is this host's name", async () => {
    const placeOf = (text: string, name: string): ReturnType<typeof storePlace> =>
      storePlace(parseHosts(text, "hosts"), { MASTER_ADDR: name });
    expect(await placeOf("nodea 2\nnodeb 2", "nodea")).toEqual({ listen: everywhere, address: "nodea" });
    expect((await placeOf("localhost 2", "nodea")).listen).toEqual(["127.0.1.1"]);
    expect((await placeOf("nodea 2\nnodeb 2", "127.0.0.1")).listen).toEqual(["127.0.0.1"]);
    expect((await rejection(placeOf("a", "nowhere"))).message).toContain("on nowhere, and that name has no address");
  });
});

describe("a name without an address", () => {
  test.each([0, 1])("is said once, by rank %i as by the others", async (rank) => {
    const given = { RANK: `${rank}`, WORLD_SIZE: "2", LOCAL_RANK: "0", MASTER_ADDR: "nowhere", MASTER_PORT: `${port}` };
    const error = await rejection(joinGroup({ env: given, timeoutMs: 200 }));
    expect(error.message).toBe("the store of the run is on nowhere, and that name has no address here (EAI_AGAIN)");
    expect(error).toMatchObject({ exitCode: 3, help: expect.stringMatching(/^MASTER_ADDR names the host of rank 0/) });
  });

  test("is asked for again, as it may come late", async () => {
    port += 20;
    const { store, server } = await openStore(rankOf(0, "late", 2), env, 10_000, undefined, () => {});
    expect(lookups).toBe(3);
    await store.close();
    await server!.close();
  });
});
