/**
 * What is wrong with the text of a `manifest.json`, all of it: by the schema that is published, and by what programs, kernels and plans
 * say of each other. Places are JSON pointers.
 */
import { type CopyStep, extentNames, type Extent, type MessageStep } from "../../compiler/index.js";
import { checkOf, type ErrorObject } from "../../json-schema.js";
import { type ArtefactManifest, type ArtefactProgram, type ArtefactTarget, FORMAT, MANIFEST_SCHEMA, programName } from "./manifest.js"; // prettier-ignore

/** Something wrong with a folder. */
export interface Problem {
  /** File of the folder. */
  readonly file: string;
  /** Of a manifest, where in it, as a JSON pointer; empty for the whole. */
  readonly pointer: string;
  /** The program that it is of; null where it is of none, or of all. */
  readonly program: string | null;
  /** Follows the file and the place. */
  readonly message: string;
  /** What to do; null where others say it. */
  readonly help: string | null;
}

const check = checkOf(() => MANIFEST_SCHEMA, { validateSchema: false, allErrors: true, verbose: true });

/** @returns what is wrong with the value; none where it is a manifest whose parts agree */
export function manifestProblems(value: unknown): Problem[] {
  const version = (value as { formatVersion?: unknown } | null)?.formatVersion;
  if (typeof version === "number" && version !== FORMAT)
    return [problem("/formatVersion", `is ${version}, and this collc reads ${FORMAT}`, "build the folder anew with this collc, or verify it with the one that has built it")]; // prettier-ignore
  const help = "a build has not written it so: build the folder anew; `collc build --schema` prints what is expected";
  const errors = check(value);
  const findings = errors.length === 0 ? disagreements(value as ArtefactManifest) : findingsOf(errors);
  const nameAt = (pointer: string): string | null => {
    const [, index] = /^\/programs\/(\d+)/.exec(pointer) ?? [];
    const name = index === undefined ? null : (value as { programs: { name?: unknown }[] }).programs[Number(index)]?.name; // prettier-ignore
    return typeof name === "string" ? name : null;
  };
  return findings.map(([pointer, message]) => problem(pointer, message, help, nameAt(pointer)));
}

const problem = (pointer: string, message: string, help: string, program: string | null = null): Problem => ({ file: "manifest.json", pointer, program, message, help }); // prettier-ignore

type Finding = readonly [pointer: string, message: string];

// -- the schema --------------------------------------------------------------------------------------

/** Of each place the findings that say most: those of the form that a value has, and not of all forms that there are. */
function findingsOf(errors: readonly ErrorObject[]): Finding[] {
  const dropped = new Set<ErrorObject>();
  const branchOf = (error: ErrorObject, choice: ErrorObject): string | null =>
    error.schemaPath.startsWith(`${choice.schemaPath}/`) && error.instancePath.startsWith(choice.instancePath)
      ? error.schemaPath.slice(choice.schemaPath.length + 1).split("/")[0]!
      : null;
  for (const choice of errors.filter((e) => e.keyword === "anyOf")) {
    const own = errors.filter((e) => branchOf(e, choice) !== null);
    const isOfKind = (e: ErrorObject): boolean => e.keyword === "const" && e.instancePath === `${choice.instancePath}/kind`; // prettier-ignore
    const others = new Set(own.filter(isOfKind).map((e) => branchOf(e, choice)));
    // Of forms that are told apart by their kind, the others say nothing.
    if (others.size > 0 && others.size < (choice.schema as readonly unknown[]).length)
      for (const e of [choice, ...own.filter((x) => others.has(branchOf(x, choice)))]) dropped.add(e);
  }
  const places = new Map<string, ErrorObject[]>();
  for (const e of errors) if (!dropped.has(e)) places.set(e.instancePath, [...(places.get(e.instancePath) ?? []), e]);
  const isDeeper = (path: string): boolean => [...places.keys()].some((p) => p.startsWith(`${path}/`));
  return [...places].flatMap(([path, found]) => {
    const choice = found.find((e) => e.keyword === "anyOf");
    const members = found.filter((e) => e.keyword === "required" || e.keyword === "additionalProperties");
    // What is inside says more than what is around it.
    if (isDeeper(path)) return choice === undefined ? members.map((e): Finding => [path, inWords([e])]) : [];
    if (choice === undefined && members.length > 0) return members.map((e): Finding => [path, inWords([e])]);
    return [[path, inWords(found.filter((e) => e !== choice && !members.includes(e)))]];
  });
}

/** Findings at one place, any of which would be mended by another value. */
function inWords(errors: readonly ErrorObject[]): string {
  const [first] = errors;
  if (first === undefined) return "is none of the forms that it may have";
  const params = first.params as Readonly<Record<string, unknown>>;
  if (first.keyword === "required") return `lacks '${String(params["missingProperty"])}'`;
  if (first.keyword === "additionalProperties")
    return `has '${String(params["additionalProperty"])}', which nobody reads`;
  const wanted = errors.map((e) => {
    const p = e.params as Readonly<Record<string, unknown>>;
    if (e.keyword === "const") return JSON.stringify(p["allowedValue"]);
    if (e.keyword === "enum") return `one of ${(p["allowedValues"] as unknown[]).map((v) => JSON.stringify(v)).join(", ")}`; // prettier-ignore
    if (e.keyword === "type") return `of type ${String(p["type"])}`;
    if (e.keyword === "pattern") return `of the form ${String(p["pattern"])}`;
    return (e.message ?? "another").replace(/^must (be|have|NOT have) /, (_, verb: string) => (verb === "be" ? "" : `one that ${verb === "have" ? "has" : "has not"} `)); // prettier-ignore
  });
  const given = JSON.stringify(first.data) ?? "nothing";
  return `is ${given.length > 60 ? `${given.slice(0, 60)}…` : given}, and must be ${[...new Set(wanted)].join(" or ")}`;
}

// -- what its parts say of each other ----------------------------------------------------------------

function disagreements({ prefix, programs }: ArtefactManifest): Finding[] {
  const files = new Map<string, string>();
  return programs.flatMap((program, i) => {
    const at = `/programs/${i}`;
    const found: Finding[] = [];
    const name = programName(prefix, program);
    if (program.name !== name) found.push([`${at}/name`, `is ${program.name}, and what it was compiled from and for is called ${name}`]); // prettier-ignore
    const before = programs[i - 1]?.name;
    if (before !== undefined && before >= program.name) found.push([`${at}/name`, before === program.name ? `is that of the program before it` : `comes before ${before}, and programs stand in the order of their names`]); // prettier-ignore
    const own = [
      ...Object.entries(program.files).map(([kind, file]) => [`${at}/files/${kind}`, file] as const),
      ...program.targets.flatMap(({ kernels }, t) => kernels.flatMap((k, j) => Object.entries(k.files).map(([kind, file]) => [`${at}/targets/${t}/kernels/${j}/files/${kind}`, file] as const))), // prettier-ignore
    ];
    for (const [pointer, file] of own) {
      if (files.has(file)) found.push([pointer, `is ${file}, which is that of ${files.get(file)}, too`]);
      files.set(file, pointer);
    }
    return [...found, ...ofProgram(program, at), ...program.targets.flatMap((t, j) => ofTarget(program, t, `${at}/targets/${j}`))]; // prettier-ignore
  });
}

function ofProgram(program: ArtefactProgram, at: string): Finding[] {
  const { ranks, mesh, inputs, outputs, inPlace, symmetric, specification, requirements, targets } = program;
  const found: Finding[] = [];
  const tensors = new Set([...inputs, ...outputs].map((t) => t.name));
  const size = mesh.reduce((n, axis) => n * axis.size, 1);
  if (mesh.length > 0 && size !== ranks) found.push([`${at}/mesh`, `is of ${size} ranks, and the program of ${ranks}`]);
  for (const [field, names] of Object.entries({ inPlace, symmetric }))
    names.forEach((name, i) => {
      if (!tensors.has(name)) found.push([`${at}/${field}/${i}`, `is '${name}', which is no input or output`]);
    });
  outputs.forEach(({ name }, i) => {
    const isInput = inputs.some((t) => t.name === name);
    if (isInput !== inPlace.includes(name)) found.push([`${at}/outputs/${i}/name`, `is '${name}', which is ${isInput ? "an input, too, and not in place" : "in place, and no input"}`]); // prettier-ignore
  });
  for (const [field, list] of Object.entries({ inputs, outputs }))
    list.forEach(({ shape, localShape }, i) => found.push(...ofExtents(program, [...shape, ...localShape], `${at}/${field}/${i}`))); // prettier-ignore
  requirements.forEach(({ left, right }, i) => found.push(...ofExtents(program, [left, right], `${at}/requirements/${i}`))); // prettier-ignore
  if (specification.outputs.length !== outputs.length) found.push([`${at}/specification/outputs`, `are ${specification.outputs.length}, and the program has ${outputs.length}`]); // prettier-ignore
  specification.outputs.forEach((node, i) => {
    if (node !== null && node >= specification.nodes.length) found.push([`${at}/specification/outputs/${i}`, `is ${node}, and nodes are numbered from 0 to ${specification.nodes.length - 1}`]); // prettier-ignore
  });
  targets.forEach(({ arch }, i) => {
    if (targets.findIndex((t) => t.arch === arch) !== i) found.push([`${at}/targets/${i}/arch`, `is ${arch}, which there is a target of before`]); // prettier-ignore
  });
  return found;
}

function ofTarget(program: ArtefactProgram, { plan, kernels, memory = [] }: ArtefactTarget, at: string): Finding[] {
  const found: Finding[] = ofExtents(program, [plan.by], `${at}/plan/by`);
  const names = new Set(memory.map((m) => m.name));
  plan.choices.forEach(({ below, steps }, i) => {
    const place = `${at}/plan/choices/${i}`;
    const [before] = i === 0 ? [0] : [plan.choices[i - 1]!.below ?? 0];
    const isLast = i === plan.choices.length - 1;
    if ((below === null) !== isLast) found.push([`${place}/below`, isLast ? `is ${below}, and the last choice has none: larger sizes would have no kernel` : "is null, and choices stand behind it"]); // prettier-ignore
    else if (below !== null && below <= before) found.push([`${place}/below`, `is ${below}, which is no more than ${before} of the choice before it`]); // prettier-ignore
    steps.forEach((step, j) => {
      if (step.kind === "launch" && step.kernel >= kernels.length) found.push([`${place}/steps/${j}/kernel`, `is ${step.kernel}, and kernels are numbered from 0 to ${kernels.length - 1}`]); // prettier-ignore
      if (step.kind === "message") found.push(...ofMessages(program, step, names, `${place}/steps/${j}`));
      if (step.kind === "copy") found.push(...ofCopies(program, step, names, `${place}/steps/${j}`));
    });
  });
  memory.forEach(({ shape }, i) => found.push(...ofExtents(program, shape, `${at}/memory/${i}/shape`)));
  kernels.forEach((kernel, i) => {
    const place = `${at}/kernels/${i}`;
    const buffers = new Set(kernel.buffers.map((b) => b.name));
    const lengths: string[] = [];
    kernel.lengths.forEach(({ name, value }, j) => {
      const here = `${place}/lengths/${j}`;
      found.push(...ofExtents(program, [value], `${here}/value`, lengths));
      if (program.dims.includes(name) || lengths.includes(name)) found.push([`${here}/name`, `is '${name}', which is a length already`]); // prettier-ignore
      lengths.push(name);
    });
    kernel.parameters.forEach((parameter, j) => {
      const here = `${place}/parameters/${j}`;
      if (parameter.kind === "length" && !lengths.includes(parameter.name)) found.push([`${here}/name`, `is '${parameter.name}', which is no length of the kernel`]); // prettier-ignore
      if ("buffer" in parameter && !buffers.has(parameter.buffer)) found.push([`${here}/buffer`, `is '${parameter.buffer}', which the kernel has not`]); // prettier-ignore
      if (parameter.kind === "dim" && !program.dims.includes(parameter.name)) found.push([`${here}/name`, `is '${parameter.name}', which is no dimension of the program`]); // prettier-ignore
      if (parameter.kind === "scalar" && !program.scalars.some((s) => s.name === parameter.name)) found.push([`${here}/name`, `is '${parameter.name}', which is no number of the program`]); // prettier-ignore
      if (parameter.kind === "peers" && parameter.ranks !== program.ranks) found.push([`${here}/ranks`, `is ${parameter.ranks}, and the program is for ${program.ranks}`]); // prettier-ignore
    });
    kernel.buffers.forEach(({ shape, memory: of }, j) => {
      found.push(...ofExtents(program, shape, `${place}/buffers/${j}/shape`));
      if (of !== undefined && !names.has(of)) found.push([`${place}/buffers/${j}/memory`, `is '${of}', which is no memory of the target`]); // prettier-ignore
    });
    found.push(...ofExtents(program, kernel.grid.work, `${place}/grid/work`));
  });
  return found;
}

/** What ranks send each other meets: as many messages on both sides, in memory that there is. */
function ofMessages(
  program: ArtefactProgram,
  { ranks }: MessageStep,
  names: ReadonlySet<string>,
  at: string,
): Finding[] {
  const found: Finding[] = [];
  if (ranks.length !== program.ranks) found.push([`${at}/ranks`, `are ${ranks.length}, and the program is for ${program.ranks}`]); // prettier-ignore
  const count = (r: number, side: "sends" | "receives", peer: number): number => ranks[r]?.[side].filter((end) => end.peer === peer).length ?? 0; // prettier-ignore
  ranks.forEach(({ sends, receives }, r) => {
    for (const [side, ends] of Object.entries({ sends, receives }))
      ends.forEach(({ peer, memory, offset, length }, i) => {
        const place = `${at}/ranks/${r}/${side}/${i}`;
        if (peer === r || peer >= ranks.length) found.push([`${place}/peer`, `is ${peer}, which is no other rank`]);
        if (!names.has(memory)) found.push([`${place}/memory`, `is '${memory}', which is no memory of the target`]);
        found.push(...ofExtents(program, [offset, length], place));
      });
    for (const peer of new Set(sends.map((end) => end.peer))) if (count(r, "sends", peer) !== count(peer, "receives", r)) found.push([`${at}/ranks/${r}/sends`, `are ${count(r, "sends", peer)} to rank ${peer}, which receives ${count(peer, "receives", r)}`]); // prettier-ignore
  });
  return found;
}

/** What ranks copy lies in tensors and memory that there are, and on peers in what every rank has the address of. */
function ofCopies(program: ArtefactProgram, { copies }: CopyStep, names: ReadonlySet<string>, at: string): Finding[] {
  const { ranks, inputs, outputs, symmetric } = program;
  const tensors = new Set([...inputs, ...outputs].map((t) => t.name));
  const found: Finding[] = [];
  if (copies.length !== ranks) found.push([`${at}/copies`, `are those of ${copies.length} ranks, and the program is for ${ranks}`]); // prettier-ignore
  copies.forEach((list, r) =>
    list.forEach(({ rows, length, from, to }, i) => {
      const here = `${at}/copies/${r}/${i}`;
      found.push(...ofExtents(program, [rows, length, from.offset, from.pitch, to.offset, to.pitch], here));
      for (const [side, { tensor, isMemory, rank }] of Object.entries({ from, to })) {
        const isKnown = isMemory === true ? names.has(tensor) : tensors.has(tensor);
        if (rank >= ranks) found.push([`${here}/${side}/rank`, `is ${rank}, and ranks are numbered from 0 to ${ranks - 1}`]); // prettier-ignore
        if (!isKnown) found.push([`${here}/${side}/tensor`, `is '${tensor}', which is no ${isMemory === true ? "memory of the target" : "input or output"}`]); // prettier-ignore
        else if (rank !== r && isMemory !== true && !symmetric.includes(tensor)) found.push([`${here}/${side}/tensor`, `is '${tensor}' of rank ${rank}, and it is not symmetric`]); // prettier-ignore
      }
    }),
  );
  return found;
}

/** Lengths are made of the program's dimensions. */
function ofExtents(
  { dims }: ArtefactProgram,
  extents: readonly Extent[],
  at: string,
  lengths: readonly string[] = [],
): Finding[] {
  const names = [...dims, ...lengths];
  const unknown = new Set(extents.flatMap((e) => [...extentNames(e)]).filter((name) => !names.includes(name)));
  return [...unknown].map((name) => [at, `has the length '${name}', which is no dimension of the program`]);
}
