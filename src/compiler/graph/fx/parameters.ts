/**
 * What torch calls the parameters of operations. FX has each argument by place or by name, as the program wrote it; here all of them
 * get places, before anything looks at them. What has no row is none of collc's operations, and what a row does not name is an argument
 * that collc does not know: either stays with the caller, for nothing that is said may be dropped.
 */
import type { FxArgument, FxNode } from "./fx.js";

/** Of elementwise operations: one tensor, two, or two with a factor of the second. */
const ONE =
  "neg logical_not bitwise_not square exp exp2 expm1 log log1p sqrt rsqrt sin cos tanh erf sigmoid silu floor ceil trunc sign sgn abs relu reciprocal"; // prettier-ignore
const TWO = "mul minimum maximum logical_and logical_or bitwise_and bitwise_or eq ne lt le gt ge";

const each = (names: string, row: string): Record<string, string> => Object.fromEntries(names.split(" ").map((name) => [name, row])); // prettier-ignore
const ELEMENTWISE = { ...each(ONE, "self"), ...each(TWO, "self other"), ...each("add sub", "self other alpha?") };

/** By namespace and operation, parameters in order: `?` behind those that may be left out, `|` between names that overloads have. */
const ROWS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  aten: {
    ...ELEMENTWISE,
    div: "self other rounding_mode?",
    gelu: "self approximate?",
    round: "self decimals?",
    pow: "self exponent",
    where: "condition self other",
    mm: "self mat2",
    bmm: "self mat2",
    matmul: "self other",
    addmm: "self mat1 mat2 beta? alpha?",
    baddbmm: "self batch1 batch2 beta? alpha?",
    linear: "input weight bias?",
    _scaled_mm: "self mat2 scale_a scale_b bias? scale_result? out_dtype? use_fast_accum?",
    view: "self size|dtype",
    reshape: "self shape",
    _unsafe_view: "self size",
    unsqueeze: "self dim",
    squeeze: "self dim?",
    flatten: "self start_dim? end_dim?",
    _reshape_alias: "self size stride",
    ...each("clone contiguous", "self memory_format?"),
    ...each("alias detach t numpy_T _to_copy", "self"),
    empty: "size",
    full: "size fill_value",
    full_like: "self fill_value",
    scalar_tensor: "s",
    arange: "start end? step?",
    rsub: "self other alpha?",
    ...each("addcmul addcdiv", "self tensor1 tensor2 value?"),
    lerp: "self end weight",
    glu: "self dim?",
    unbind: "self dim?",
    stack: "tensors dim?",
    repeat: "self repeats",
    repeat_interleave: "self repeats dim? output_size?",
    clamp: "self min? max?",
    clamp_min: "self min",
    clamp_max: "self max",
    masked_fill: "self mask value",
    copy: "self src non_blocking?",
    fill: "self value",
    expand: "self size implicit?",
    to: "self dtype|device|other non_blocking? copy?",
    transpose: "self dim0 dim1",
    permute: "self dims",
    slice: "self dim? start? end? step?",
    select: "self dim index",
    split: "self split_size dim?",
    split_with_sizes: "self split_sizes dim?",
    chunk: "self chunks dim?",
    cat: "tensors dim?",
    ...each("sum mean amax amin prod", "self dim? keepdim?"),
    ...each("_softmax _log_softmax", "self dim half_to_float"),
    ...each("softmax log_softmax", "self dim dtype?"),
    ...each("var var_mean", "self dim? correction|unbiased? keepdim?"),
    ...each("rms_norm _fused_rms_norm", "input normalized_shape weight? eps?"),
    layer_norm: "input normalized_shape weight? bias? eps? cudnn_enable?",
    native_layer_norm: "input normalized_shape weight? bias? eps",
  },
  prims: {
    ...ELEMENTWISE,
    div: "self other",
    convert_element_type: "a dtype",
    where: "pred a b",
    fma: "self other addend",
    round: "self",
    iota: "length start? step? requires_grad?",
  },
  _c10d_functional: {
    wait_tensor: "tensor",
    ...each("all_reduce all_reduce_", "input reduce_op group_name"),
    ...each("all_reduce_coalesced all_reduce_coalesced_", "inputs reduce_op group_name"),
    all_gather_into_tensor_coalesced: "inputs group_size group_name",
    reduce_scatter_tensor_coalesced: "inputs reduce_op group_size group_name",
    all_gather_into_tensor: "input group_size group_name",
    all_gather_into_tensor_out: "input group_size group_name out",
    reduce_scatter_tensor: "input reduce_op group_size group_name",
    reduce_scatter_tensor_out: "input reduce_op group_size group_name out",
    all_to_all_single: "input output_split_sizes input_split_sizes group_name",
    ...each("broadcast broadcast_", "input src group_name"),
  },
};
const GETITEM = "a b";

/** Where a result lies, and what its dtype is: nodes say that themselves. How it is made is the caller's. */
const SAID_ELSEWHERE: ReadonlySet<string> = new Set("dtype layout device pin_memory memory_format non_blocking".split(" ")); // prettier-ignore

interface Parameter {
  readonly names: readonly string[];
  readonly isOptional: boolean;
}

/** `aten.add.Tensor` → `aten.add`. */
export function baseOf(target: string): string {
  return target.replace(/^torch\.ops\./, "").replace(/^(\w+\.\w+)\.\w+$/, "$1");
}

function parametersOf(base: string): readonly Parameter[] | null {
  const [space = "", name = ""] = base.split(".");
  const rows = ROWS[space.replace(/^c10d/, "_c10d")];
  const plain = name.replace(/_$/, "");
  const row = base.endsWith("getitem") ? GETITEM : rows === undefined ? undefined : Object.hasOwn(rows, name) ? rows[name] : Object.hasOwn(rows, plain) ? rows[plain] : undefined; // prettier-ignore
  return row?.split(" ").map((text) => ({ names: text.replace("?", "").split("|"), isOptional: text.endsWith("?") })) ?? null; // prettier-ignore
}

/** The node with all of its arguments in their places, null for those before others that are not given; or why it has none. */
export function positional(node: FxNode): (FxNode & { readonly args: readonly FxArgument[] }) | string {
  const { target = "", args = [], kwargs = {} } = node;
  const base = baseOf(target);
  const parameters = parametersOf(base);
  if (parameters === null) return `collc has no ${base}`;
  if (args.length > parameters.length) return `collc knows ${parameters.length} arguments of ${base}, and it has ${args.length}`; // prettier-ignore
  const placed: FxArgument[] = [...args];
  for (const [key, value] of Object.entries(kwargs)) {
    const place = parameters.findIndex((p) => p.names.includes(key));
    if (place < 0 && SAID_ELSEWHERE.has(key)) continue;
    if (place < 0) return `collc does not know the argument '${key}' of ${base}`;
    if (place < args.length) return `it has the argument '${key}' of ${base} twice`;
    while (placed.length <= place) placed.push(null);
    placed[place] = value;
  }
  const given = (i: number): boolean => i < args.length || parameters[i]!.names.some((name) => Object.hasOwn(kwargs, name)); // prettier-ignore
  const missing = parameters.find((p, i) => !p.isOptional && !given(i));
  if (missing !== undefined) return `it has no '${missing.names[0]}', which ${base} needs`;
  const { kwargs: _, ...rest } = node;
  return { ...rest, args: placed };
}

/** Arguments of a node that is {@link positional}, by the first of their names. */
export function named({ target = "", args = [] }: FxNode): Readonly<Record<string, FxArgument>> {
  return Object.fromEntries((parametersOf(baseOf(target)) ?? []).flatMap((p, i) => (i < args.length ? [[p.names[0]!, args[i]!]] : []))); // prettier-ignore
}
