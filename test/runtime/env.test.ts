import { describe, expect, test } from "vitest";
import {
  childEnvironment,
  defaultTimeoutMs,
  detectLauncher,
  environmentTable,
  readEnv,
} from "../../src/runtime/env.js";
import { UsageError } from "../../src/runtime/errors.js";
import { parseHostPort, storeAddressOf, storePorts } from "../../src/runtime/store-address.js";

const torchrun = {
  RANK: "5",
  WORLD_SIZE: "8",
  LOCAL_RANK: "1",
  LOCAL_WORLD_SIZE: "4",
  MASTER_ADDR: "node0",
  MASTER_PORT: "29500",
  TORCHELASTIC_RUN_ID: "job",
};

describe("detectLauncher", () => {
  test.each([
    ["nothing", {}, null],
    ["torchrun", torchrun, ["torchrun", 5, 8, 1, "node0", 29500]],
    [
      "RANK and WORLD_SIZE by hand",
      { RANK: "0", WORLD_SIZE: "2", MASTER_ADDR: "a", MASTER_PORT: "1234" },
      ["torchrun", 0, 2, null, "a", 1234],
    ],
    [
      "Open MPI on one host",
      {
        OMPI_COMM_WORLD_RANK: "3",
        OMPI_COMM_WORLD_SIZE: "4",
        OMPI_COMM_WORLD_LOCAL_RANK: "3",
        OMPI_COMM_WORLD_LOCAL_SIZE: "4",
      },
      ["openmpi", 3, 4, 3, "127.0.0.1", null],
    ],
    [
      "Open MPI on several hosts",
      { OMPI_COMM_WORLD_RANK: "3", OMPI_COMM_WORLD_SIZE: "4", OMPI_COMM_WORLD_LOCAL_SIZE: "2" },
      ["openmpi", 3, 4, null, null, null],
    ],
    [
      "MPICH",
      { PMI_RANK: "1", PMI_SIZE: "2", MPI_LOCALRANKID: "1", MPI_LOCALNRANKS: "2" },
      ["mpich", 1, 2, 1, "127.0.0.1", null],
    ],
    [
      "srun",
      {
        SLURM_PROCID: "9",
        SLURM_NTASKS: "16",
        SLURM_LOCALID: "1",
        SLURM_JOB_ID: "7",
        SLURM_STEP_ID: "0",
        SLURM_NNODES: "2",
        SLURM_STEP_NODELIST: "gpu[03-04],x1",
      },
      ["slurm", 9, 16, 1, "gpu03", null],
    ],
    [
      "srun on one node",
      { SLURM_PROCID: "1", SLURM_NTASKS: "2", SLURM_NNODES: "1" },
      ["slurm", 1, 2, null, "127.0.0.1", null],
    ],
    ["a batch script", { SLURM_PROCID: "0", SLURM_NTASKS: "16", SLURM_JOB_ID: "7" }, null],
    ["salloc's shell", { SLURM_NTASKS: "16", SLURM_JOB_ID: "7" }, null],
    ["srun of one task", { SLURM_PROCID: "0", SLURM_NTASKS: "1" }, null],
    [
      "torchrun once a node under srun",
      { ...torchrun, SLURM_PROCID: "1", SLURM_NTASKS: "2" },
      ["torchrun", 5, 8, 1, "node0", 29500],
    ],
    [
      "torchrun once a node under mpirun",
      { ...torchrun, OMPI_COMM_WORLD_RANK: "1", OMPI_COMM_WORLD_SIZE: "2" },
      ["torchrun", 5, 8, 1, "node0", 29500],
    ],
    ["empty variables", { RANK: "", WORLD_SIZE: "" }, null],
  ] as const)("%s", (_, env, expected) => {
    const info = detectLauncher(env);
    const { launcher, rank, world, localRank, masterAddr, masterPort } = info ?? {};
    expect(info && [launcher, rank, world, localRank, masterAddr, masterPort]).toEqual(expected);
  });

  test.each([
    [{ RANK: "1" }, "RANK is set, but WORLD_SIZE is not"],
    [{ WORLD_SIZE: "4" }, "WORLD_SIZE is set, but RANK is not"],
    [{ LOCAL_RANK: "1" }, "LOCAL_RANK is set, but RANK and WORLD_SIZE are not"],
    [{ OMPI_COMM_WORLD_RANK: "1" }, "OMPI_COMM_WORLD_RANK is set, but OMPI_COMM_WORLD_SIZE is not"],
    [{ PMI_SIZE: "2" }, "PMI_SIZE is set, but PMI_RANK is not"],
    [{ SLURM_PROCID: "2" }, "SLURM_PROCID is set, but SLURM_NTASKS is not"],
    [{ RANK: "4", WORLD_SIZE: "4" }, "RANK=4 cannot be with WORLD_SIZE=4"],
    [{ RANK: "x", WORLD_SIZE: "4" }, 'RANK="x" is not a whole number'],
    [{ RANK: "-1", WORLD_SIZE: "4" }, 'RANK="-1" is not a whole number'],
    [{ RANK: "0", WORLD_SIZE: "0" }, 'WORLD_SIZE="0" is not a whole number from 1'],
    [{ ...torchrun, LOCAL_RANK: "4" }, "LOCAL_RANK=4 cannot be with LOCAL_WORLD_SIZE=4"],
    [{ ...torchrun, LOCAL_WORLD_SIZE: "9" }, "LOCAL_WORLD_SIZE=9 is more than WORLD_SIZE=8"],
    [{ ...torchrun, MASTER_PORT: "99999" }, 'MASTER_PORT="99999" is not a whole number'],
    [
      { RANK: "0", WORLD_SIZE: "4", OMPI_COMM_WORLD_RANK: "1", OMPI_COMM_WORLD_SIZE: "4" },
      "two launchers disagree: torchrun says rank 0 of 4, openmpi says rank 1 of 4",
    ],
    [{ COLLC_STORE: "127.0.0.1:1" }, "COLLC_STORE is set, but RANK and WORLD_SIZE are not"],
  ])("refuses %j", (env, message) => {
    expect(() => detectLauncher(env)).toThrow(UsageError);
    expect(() => detectLauncher(env)).toThrow(message);
  });
});

describe("the address of the store", () => {
  test("is near MASTER_PORT, the same for all ranks, and inside the ports there are", () => {
    const info = detectLauncher(torchrun)!;
    const address = storeAddressOf(info, torchrun);
    expect(address.host).toBe("node0");
    expect(address.ports).toEqual(storePorts(29500));
    expect(address.ports).not.toContain(29500);
    expect(storeAddressOf({ ...info, rank: 0 }, { ...torchrun, RANK: "0" })).toEqual(address);
    for (const port of [1, 65535, 65400]) {
      for (const each of storePorts(port)) expect(each > 0 && each < 65536).toBe(true);
    }
  });

  test.each([
    ["node[1-2]-ib", "node1-ib"],
    ["gpu[1-2]n[3-4]", "gpu1n3"],
    ["node[03-05,9],other", "node03"],
    ["a-1.cluster,b[2-3]", "a-1.cluster"],
    ["node7", "node7"],
  ])("is srun's first host: of %s, %s", (list, first) => {
    const env = { SLURM_PROCID: "1", SLURM_NTASKS: "4", SLURM_NNODES: "2", SLURM_STEP_NODELIST: list };
    expect(detectLauncher(env)).toMatchObject({ masterAddr: first });
  });

  test("needs a host", () => {
    const env = { OMPI_COMM_WORLD_RANK: "0", OMPI_COMM_WORLD_SIZE: "2" };
    expect(() => storeAddressOf(detectLauncher(env)!, env)).toThrow("MASTER_ADDR is not set");
  });

  test("that collc run gives wins", () => {
    const env = { ...torchrun, COLLC_STORE: "[::1]:77", COLLC_STORE_SECRET: "s", COLLC_RUN_ID: "r" };
    expect(storeAddressOf(detectLauncher(env)!, env)).toEqual({ host: "::1", ports: [77], secret: "s", runId: "r" });
    expect(() => parseHostPort("nonsense", "COLLC_STORE")).toThrow('COLLC_STORE="nonsense" is not host:port');
  });
});

test("knobs: empty is unset, numbers are checked, every row is described", () => {
  expect(readEnv("COLLC_NVRTC", { COLLC_NVRTC: "" })).toBeUndefined();
  expect(defaultTimeoutMs({ COLLC_TIMEOUT_MS: "250" })).toBe(250);
  expect(() => defaultTimeoutMs({ COLLC_TIMEOUT_MS: "soon" })).toThrow(UsageError);
  for (const { description } of Object.values(environmentTable)) expect(description.length).toBeGreaterThan(5);
  expect(childEnvironment({ A: undefined, B: "2" }, { A: "1", C: "3" })).toEqual({ B: "2", C: "3" });
});
