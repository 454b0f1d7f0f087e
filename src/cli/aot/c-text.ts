/** The C of a folder of programs: of each its tables and a header with its arguments, and the table of all. */
import { DTYPES, printLayout, RELATION_SIGNS, type SignatureTensor } from "../../compiler/index.js";
import { targetRow } from "./c-targets.js";
import { bytesOf, Functions, isSymmetric, quoted, shown, tensorsOf, wordsOf } from "./c-words.js";
import { type ArtefactManifest, type ArtefactProgram, digest } from "./manifest.js";

/** `COLLC_ABI` of the `collc.h` that the tables are for. */
const ABI = 4;

/** Bytes of a file of the folder. */
export type ReadFile = (name: string) => Uint8Array;

// A tensor may be called `int` in Coll; a prefix keeps C out of it.
const dimName = (dim: string): string => `dim_${dim}`;
const scalarName = (scalar: string): string => `num_${scalar}`;
const SCALARS_IN_C = { f32: "float", i32: "int32_t", u32: "uint32_t" } as const;
const bufferName = (buffer: string): string => `buf_${buffer}`;

const comment = (value: string): string => value.replaceAll("*/", "* /");

function signatureOf(program: ArtefactProgram): string {
  const declare = (tensors: readonly SignatureTensor[]): string =>
    tensors.map((t) => `${t.name}: ${t.dtype}[${t.shape.map(shown).join(", ")}] ${printLayout(t.layout)}`).join(", ");
  const numbers = program.scalars.map((s) => `, ${s.name}: ${s.dtype}`).join("");
  return `${program.collective}(${declare(program.inputs)}${numbers}) -> ${declare(program.outputs)}`;
}

/** Bytes of the arguments. */
const argumentBytes = (program: ArtefactProgram): number =>
  8 * (wordsOf(program).all + Math.ceil(program.scalars.length / 2));

/** NAME.h */
export function headerText(program: ArtefactProgram): string {
  const { name, ranks } = program;
  const members = [
    ...program.dims.map((dim) => `  int64_t ${dimName(dim)};`),
    ...tensorsOf(program).map((t) => {
      const isInPlace = program.inPlace.includes(t.name);
      const role = isInPlace ? "input and output" : program.inputs.includes(t) ? "input" : "output";
      const what = `${role} '${t.name}', ${t.dtype}[${t.localShape.map(shown).join(", ")}]`;
      return isSymmetric(program, t.name)
        ? `  collc_pointer ${bufferName(t.name)}[${ranks}]; /* ${what}, symmetric: of every rank, as mapped here */`
        : `  collc_pointer ${bufferName(t.name)}; /* ${what}: of this rank */`;
    }),
    ...program.scalars.map((s) => `  ${SCALARS_IN_C[s.dtype]} ${scalarName(s.name)}; /* the same on every rank */`),
  ];
  const rules = program.requirements.map(
    (rule) =>
      ` *   ${shown(rule.left)} ${RELATION_SIGNS[rule.relation]} ${shown(rule.right)}: ${comment(rule.reason)}\n`,
  );
  const archs = program.targets.map((target) => target.arch).join(", ");
  const body = `#include "collc.h"

#if COLLC_ABI != ${ABI}
#error "collc.h is of another version of collc than ${name}"
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ${name}_arguments {
${members.join("\n")}
} ${name}_arguments;
typedef char ${name}_arguments_are_words[sizeof(${name}_arguments) == ${argumentBytes(program)} ? 1 : -1];

extern const collc_program ${name};

/* Enqueues it on a CUstream. See collc_launch. */
static inline int ${name}_launch(collc_handle *handle, const ${name}_arguments *arguments, void *stream, collc_error *error) {
  return collc_launch(handle, &${name}, arguments, stream, error);
}

/* The same on a stream that is being captured into a CUDA graph: \`nodes\` are what ${name}_update changes. See collc_capture. */
static inline int ${name}_capture(collc_handle *handle, const ${name}_arguments *arguments, void *stream, collc_nodes *nodes, collc_error *error) {
  return collc_capture(handle, &${name}, arguments, stream, nodes, error);
}

/* Gives a captured launch other numbers and addresses, from the next launch of the executable graph on. See collc_update. */
static inline int ${name}_update(collc_handle *handle, const ${name}_arguments *arguments, const collc_nodes *nodes, void *graph_exec, collc_error *error) {
  return collc_update(handle, &${name}, arguments, nodes, graph_exec, error);
}

#ifdef __cplusplus
}
#endif
`;
  const guard = `${name.toUpperCase()}_H`;
  // Programs of one name in two folders must not pass for each other.
  const mark = `0x${digest([body, signatureOf(program), program.source, program.sourceSha256]).slice(0, 8)}`;
  return `/* Made by collc: ${name}, for ${ranks} ranks and ${archs}.
 *
 *   ${comment(signatureOf(program))}
${rules.length === 0 ? "" : ` *\n * Dimensions must fulfil:\n${rules.join("")}`} */
#if !defined(${guard})
#define ${guard} ${mark}

${body}
#elif ${guard} != ${mark}
#error "two headers are called ${name}.h, and are of different programs: build one of them with another --prefix"
#endif
`;
}

/** NAME.c @param read gives the cubins, of a program that embeds them */
export function sourceText(program: ArtefactProgram, read: ReadFile): string {
  const functions = new Functions(program.dims);
  const { at } = wordsOf(program);
  const tables: string[] = [];
  const table = (type: string, name: string, rows: readonly string[]): string => {
    if (rows.length === 0) return "NULL";
    tables.push(`static const ${type} ${name}[] = {\n${rows.map((row) => `  ${row},\n`).join("")}};\n`);
    return name;
  };
  const list = (values: readonly (string | number)[]): string => `{${values.join(", ")}}`;
  const dims = table("char *const", "dims", program.dims.map(quoted));
  const tensors = table(
    "collc_tensor",
    "tensors",
    tensorsOf(program).map((t, i) =>
      list([
        quoted(t.name),
        quoted(t.dtype),
        DTYPES[t.dtype].bytes,
        program.outputs.some(({ name }) => name === t.name) ? 1 : 0,
        isSymmetric(program, t.name) ? 1 : 0,
        functions.of(bytesOf(t.localShape, t.dtype)),
        at[i]!,
      ]),
    ),
  );
  const requirements = table(
    "collc_requirement",
    "requirements",
    program.requirements.map((rule) => {
      const sign = RELATION_SIGNS[rule.relation];
      const rows = [
        functions.holds(rule.left, sign, rule.right),
        quoted(`${shown(rule.left)} ${sign} ${shown(rule.right)}`),
      ];
      return list([...rows, quoted(rule.reason)]);
    }),
  );
  const targets = program.targets.map((target, t) => targetRow(program, target, t, { functions, table, read }));
  const rows = table("collc_target", "targets", targets);
  const { name, path, collective, ranks, mesh, dtypes } = program;
  const texts = [name, path, collective, signatureOf(program)].map(quoted);
  const variables = Object.entries(dtypes).map(([variable, dtype]) => `${variable}=${dtype}`);
  const axes = mesh.map((axis) => `${axis.name}=${axis.size}`);
  const last = [
    ...[ABI, ...texts, quoted(variables.join(",")), quoted(axes.join(",")), ranks],
    ...[program.ranksPerDomain ?? ranks, dims, program.dims.length],
    ...[
      tensors,
      tensorsOf(program).length,
      requirements,
      program.requirements.length,
      argumentBytes(program),
      rows,
      targets.length,
    ],
  ];
  return `/* Made by collc: the tables of ${name}. Compile it with collc.c and collc_copies.c. */
#include "${name}.h"

${functions.text()}
${tables.join("\n")}
const collc_program ${name} = ${list(last)};
`;
}

/** PREFIX_programs.h and PREFIX_programs.c: the table of all. */
export function tableTexts({ prefix, programs }: ArtefactManifest): { header: string; source: string } {
  const guard = `${prefix.toUpperCase()}_PROGRAMS_H`;
  const header = `/* Made by collc: all programs of this folder. Look one up with collc_find(${prefix}_programs, ${prefix}_program_count, …). */
#ifndef ${guard}
#define ${guard}

${programs.map(({ files }) => `#include "${files.header}"\n`).join("")}
#ifdef __cplusplus
extern "C" {
#endif

extern const collc_program *const ${prefix}_programs[];
extern const size_t ${prefix}_program_count;

#ifdef __cplusplus
}
#endif

#endif
`;
  const source = `/* Made by collc. */
#include "${prefix}_programs.h"

const collc_program *const ${prefix}_programs[] = {
${programs.map(({ name }) => `  &${name},\n`).join("")}};
const size_t ${prefix}_program_count = ${programs.length};
`;
  return { header, source };
}
