/**
 * Checked syntax → IR. A body with tensor expressions becomes a tensor-level kernel, in which loops and elements stand as
 * they are; a body of loops and elements alone becomes a rank-level one. Nothing is optimised here.
 */
import { type CheckedCollective, isTensorAssignment, isTensorLet } from "../check/checked.js";
import { Builder } from "../ir/builder.js";
import type { Buffer, Kernel } from "../ir/module.js";
import type { SignatureTensor } from "../manifest.js";
import { namedExtents, storedIn } from "./facts.js";
import { lowerStatement, type LoweringContext } from "./statements.js";
import { specificationOf } from "./specification.js";
import { TensorStatements } from "./tensors.js";

export function lowerCollective(checked: CheckedCollective): Kernel {
  const { syntax } = checked;
  const build = new Builder(syntax.span);
  const hasTensors = syntax.body.some((s) => isTensorAssignment(s) || isTensorLet(checked, s));
  const tensors = [...checked.tensors.values()];
  const whole = new TensorStatements(checked, build, namedExtents(checked));
  let context: LoweringContext = { checked, build, scope: new Map() };
  for (const s of syntax.body) {
    if (isTensorAssignment(s) || isTensorLet(checked, s)) whole.lower(s);
    else {
      context = lowerStatement(s, context);
      for (const name of storedIn([s])) whole.noteStore(name);
    }
  }
  const signature = (role: "input" | "output"): SignatureTensor[] =>
    tensors
      .filter((t) => t.role === role || t.role === "inout")
      .map((t) => (role === "output" ? { ...t, ...t.after, values: undefined } : t))
      .map(({ name, dtype, layout, shape, localShape, values }) => ({
        name,
        dtype,
        layout,
        shape,
        localShape,
        ...(values === undefined ? {} : { values }),
      }));
  const buffers: Buffer[] = [...tensors, ...checked.stored.values()].map((t) => ({
    name: t.name,
    role: t.role,
    dtype: t.dtype,
    shape: t.localShape,
    symmetric: false,
  }));
  return {
    name: syntax.name.text,
    level: hasTensors ? "tensor" : "rank",
    world: checked.world,
    dtypes: checked.dtypes,
    dims: checked.dims,
    scalars: checked.scalars,
    inputs: signature("input"),
    outputs: signature("output"),
    specification: specificationOf(checked),
    mesh: checked.mesh,
    requirements: checked.requirements,
    clauses: {
      ensures: signature("output").map(({ name }) => syntax.ensures.find((e) => e.output.text === name)?.span ?? null),
      where: syntax.requires[0]?.span ?? null,
    },
    buffers,
    blockThreads: 0,
    maxBlocks: 0,
    work: [],
    body: { arguments: [], ops: build.ops },
  };
}
