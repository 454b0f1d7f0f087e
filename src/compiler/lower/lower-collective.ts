/**
 * Checked syntax → IR. A body of tensor expressions becomes a tensor-level kernel; a body of loops and
 * elements becomes a rank-level one. Nothing is optimised here.
 */
import { type CheckedCollective, isTensorAssignment } from "../check/checked.js";
import type { Statement } from "../ast/nodes.js";
import { Builder } from "../ir/builder.js";
import type { Buffer, Kernel } from "../ir/module.js";
import type { SignatureTensor } from "../manifest.js";
import { lowerStatements, type LoweringContext } from "./statements.js";
import { specificationOf } from "./specification.js";
import { lowerTensorStatements } from "./tensors.js";

export function lowerCollective(checked: CheckedCollective): Kernel {
  const { syntax } = checked;
  const build = new Builder(syntax.span);
  const isTensorBody = syntax.body.some((s) => isTensorAssignment(s) || isTensorLet(checked, s));
  const tensors = [...checked.tensors.values()];
  if (isTensorBody) lowerTensorStatements(checked, build);
  else {
    const context: LoweringContext = { checked, build, scope: new Map() };
    lowerStatements(syntax.body, context);
  }
  const signature = (role: "input" | "output"): SignatureTensor[] =>
    tensors
      .filter((t) => t.role === role)
      .map(({ name, dtype, layout, shape, localShape, values }) => ({
        name,
        dtype,
        layout,
        shape,
        localShape,
        ...(values === undefined ? {} : { values }),
      }));
  const buffers: Buffer[] = tensors.map((t) => ({
    name: t.name,
    role: t.role,
    dtype: t.dtype,
    shape: t.localShape,
    symmetric: false,
  }));
  return {
    name: syntax.name.text,
    level: isTensorBody ? "tensor" : "rank",
    world: checked.world,
    dtypes: checked.dtypes,
    dims: checked.dims,
    inputs: signature("input"),
    outputs: signature("output"),
    specification: specificationOf(checked),
    mesh: checked.mesh,
    requirements: checked.requirements,
    buffers,
    blockThreads: 0,
    maxBlocks: 0,
    work: [],
    body: { arguments: [], ops: build.ops },
  };
}

function isTensorLet(checked: CheckedCollective, s: Statement): boolean {
  return s.kind === "let" && checked.types.get(s.value)?.kind === "tensor";
}
