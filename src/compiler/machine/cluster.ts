/**
 * Machines of many NVLink domains: how many ranks share addresses, and what lies between domains. Ranks are numbered domain by
 * domain. A domain has some NICs, which its ranks share evenly; NIC k of each domain of a pod is on the pod's leaf switch k (a rail),
 * and leaves meet over a spine.
 */
import { UsageError } from "../../errors.js";
import { checkOf } from "../../json-schema.js";
import { suggestion } from "../diagnostics/suggest.js";
import { type Machine, MACHINES, type Sourced } from "./machines.js";

/** What a link or a NIC does, between domains: rates in bytes a second and direction, latencies in seconds. */
interface Network {
  /** What one NIC carries of large messages. */
  readonly nicRate: Sourced;
  /** From a put with a signal, given to the NIC, to its being seen on a GPU on the same leaf, for a message without length. */
  readonly latency: Sourced;
  /** What each further switch on the way adds. */
  readonly switchLatency: Sourced;
  /** Least time between two messages of one NIC. */
  readonly messageTime: Sourced;
  /** What NICs of a leaf may send, over what its links to the spine carry: 1 where nobody waits. */
  readonly oversubscription: Sourced;
}

export interface Cluster extends Network {
  readonly name: string;
  readonly title: string;
  /** A GPU, and the links inside a domain. */
  readonly machine: Machine;
  /** Ranks that share addresses: consecutive ones. */
  readonly ranksPerDomain: number;
  /** Most domains. */
  readonly domains: number;
  /** NICs of a domain. */
  readonly nics: number;
  /** Domains on one set of leaf switches. */
  readonly domainsPerPod: number;
}

const CLUSTER_FORMAT = "collc-cluster-1";

const of = (value: number, source: string): Sourced => ({ value, source });

const NIC =
  "48 to 49 GB/s of a ConnectX-7 at 400 Gb/s, said by NCCL's maintainers: github.com/NVIDIA/nccl-tests/issues/267, 2025-01";
const TREE = "NCCL's own model of a hop over the network, tree, LL: 5.0 µs (src/graph/tuning.cc, 5067397, 2026-06)";
const SWITCH = "330 ns through a Quantum-2 switch: yobitel.com/knowledge-base/nvidia-quantum-2";
const POST =
  "NCCL's own model of posting to an Intel host's NIC: 1 µs (getNetOverhead, src/graph/tuning.cc, 5067397, 2026-06)";
const FULL = "full bisection, as DGX SuperPOD is built";

const machineNamed = (name: string): Machine => MACHINES.find((m) => m.name === name)!;

const dgxH100: Cluster = {
  name: "dgx-h100",
  title: "hosts of 8×H100 with 8 NICs of 400 Gb/s, a rail each, 32 hosts a pod",
  machine: machineNamed("h100x8"),
  ranksPerDomain: 8,
  domains: 512,
  nics: 8,
  domainsPerPod: 32,
  nicRate: of(48.5e9, NIC),
  latency: of(5e-6, TREE),
  switchLatency: of(0.33e-6, SWITCH),
  messageTime: of(1e-6, POST),
  oversubscription: of(1, FULL),
};

const dgxA100: Cluster = {
  ...dgxH100,
  name: "dgx-a100",
  title: "hosts of 8×A100 with 8 NICs of 200 Gb/s, a rail each, 20 hosts a pod",
  machine: machineNamed("a100x8"),
  domainsPerPod: 20,
  nicRate: of(24e9, "192 GB/s of 8 NICs, said by NCCL's maintainers: github.com/NVIDIA/nccl/issues/812, 2023-03"),
};

/** Machines of several domains that have a name. */
const CLUSTERS: readonly Cluster[] = [dgxH100, dgxA100];

/** A machine of one domain as a cluster. */
export function clusterOf(machine: Machine): Cluster {
  return {
    ...dgxH100,
    name: machine.name,
    title: machine.title,
    machine,
    ranksPerDomain: machine.ranks,
    domains: 1,
    nics: machine.ranks,
    domainsPerPod: 1,
  };
}

/** The cluster or machine of a name; null if there is none. */
export function clusterNamed(name: string): Cluster | null {
  const machine = MACHINES.find((m) => m.name === name);
  return CLUSTERS.find((c) => c.name === name) ?? (machine === undefined ? null : clusterOf(machine));
}

/** Names that {@link clusterNamed} knows. */
export const CLUSTER_NAMES: readonly string[] = [...CLUSTERS, ...MACHINES].map(({ name }) => name);

const count = (maximum: number, description: string): object => ({ type: "integer", minimum: 1, maximum, description });
const quantity = (description: string, minimum: number): object => ({
  description,
  anyOf: [
    { type: "number", minimum },
    {
      type: "object",
      properties: { value: { type: "number", minimum }, source: { type: "string" } },
      required: ["value", "source"],
      additionalProperties: false,
    },
  ],
});

const QUANTITIES: Readonly<Record<keyof Network, object>> = {
  nicRate: quantity("Bytes a second that a NIC carries in each direction.", 1),
  latency: quantity("Seconds from a put with a signal to its being seen on the same leaf.", 0),
  switchLatency: quantity("Seconds that each further switch adds.", 0),
  messageTime: quantity("Least seconds between two messages of a NIC.", 0),
  oversubscription: quantity("What NICs of a leaf may send, over what its links to the spine carry.", 1),
};

/** The schema of a file that describes a cluster, as JSON Schema 2020-12. */
export function clusterSchema(): Readonly<Record<string, unknown>> {
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    $id: "https://collc.dev/schema/cluster-1.json",
    title: "A cluster for collc simulate",
    description: "GPUs in NVLink domains, NICs and switches. What is left out is as in the cluster named dgx-h100.",
    type: "object",
    properties: {
      $schema: { type: "string" },
      format: { const: CLUSTER_FORMAT },
      name: { type: "string", pattern: "^[\\w.-]{1,64}$" },
      title: { type: "string" },
      machine: { enum: MACHINES.map(({ name }) => name), description: "Whose GPUs and NVLink rates a domain has." },
      ranksPerDomain: count(4096, "Ranks that share addresses."),
      domains: count(4096, "Most domains."),
      nics: count(4096, "NICs of a domain; its ranks share them evenly."),
      domainsPerPod: count(4096, "Domains on one set of leaf switches."),
      ...QUANTITIES,
    },
    required: ["format", "name", "machine", "ranksPerDomain", "domains"],
    additionalProperties: false,
  };
}

const check = checkOf(clusterSchema, { strict: true, allowUnionTypes: true });

/**
 * The cluster that a JSON text describes.
 * @param file name for messages
 * @throws UsageError for what is no such description, with the first place that is wrong
 */
export function clusterFromJson(text: string, file: string): Cluster {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new UsageError(
      `${file} is no JSON: ${(error as Error).message}`,
      "schemas/cluster.schema.json describes what it may hold",
    );
  }
  const [wrong] = check(value);
  if (wrong !== undefined) {
    const unknown = wrong.params["additionalProperty"] as string | undefined;
    const properties = Object.keys(clusterSchema()["properties"] as object);
    throw new UsageError(
      `${file} describes no cluster: ${wrong.instancePath || "it"} ${wrong.message ?? "is wrong"}${unknown === undefined ? "" : `, and '${unknown}' is one`}`,
      (unknown === undefined ? undefined : suggestion(unknown, properties)) ??
        "schemas/cluster.schema.json describes it",
    );
  }
  const given = value as { machine: string; name: string } & Partial<Omit<Cluster, "machine">>;
  const cluster: Cluster = {
    ...dgxH100,
    title: given.name,
    nics: given.ranksPerDomain!,
    ...given,
    ...Object.fromEntries(
      (Object.keys(QUANTITIES) as (keyof Network)[]).flatMap((key) => {
        const q = given[key] as number | Sourced | undefined;
        return q === undefined ? [] : [[key, typeof q === "number" ? of(q, file) : q]];
      }),
    ),
    machine: machineNamed(given.machine),
  };
  const { ranksPerDomain, nics } = cluster;
  if (ranksPerDomain % nics !== 0)
    throw new UsageError(
      `${file}: ${nics} NICs cannot be shared evenly by ${ranksPerDomain} ranks`,
      "let nics divide ranksPerDomain",
    );
  return cluster;
}
