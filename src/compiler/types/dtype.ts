/** Element types of Coll tensors, and the facts about them that every stage reads. */

export type DType = "f32" | "f16" | "bf16" | "f8e4m3" | "f8e5m2" | "i64" | "i32" | "u32" | "i8" | "u8" | "bool";

/** The type arithmetic on a dtype is carried out in: one rounding, when the value is stored. */
export type ComputeDType = "f32" | "i64" | "i32" | "u32" | "bool";

/** What a number of the launch may be: four bytes, which a number of JavaScript holds exactly. */
export const LAUNCH_DTYPES = ["f32", "i32", "u32"] as const;
export type LaunchDType = (typeof LAUNCH_DTYPES)[number];

/** Scalars inside the compiler: element types, of which `bool` are truth values, plus indices (64-bit signed). */
export type ScalarKind = DType | "index";

interface DTypeFacts {
  readonly bytes: number;
  /** Truth values are no numbers: they are compared, joined and chosen by, and there are no sums of them. */
  readonly kind: "float" | "int" | "bool";
  readonly compute: ComputeDType;
  /** Unit roundoff relative to 1 (2^-(mantissa bits + 1)); 0 for integers. */
  readonly epsilon: number;
}

export const DTYPES: Readonly<Record<DType, DTypeFacts>> = {
  f32: { bytes: 4, kind: "float", compute: "f32", epsilon: 2 ** -24 },
  f16: { bytes: 2, kind: "float", compute: "f32", epsilon: 2 ** -11 },
  bf16: { bytes: 2, kind: "float", compute: "f32", epsilon: 2 ** -8 },
  f8e4m3: { bytes: 1, kind: "float", compute: "f32", epsilon: 2 ** -4 },
  f8e5m2: { bytes: 1, kind: "float", compute: "f32", epsilon: 2 ** -3 },
  i64: { bytes: 8, kind: "int", compute: "i64", epsilon: 0 },
  i32: { bytes: 4, kind: "int", compute: "i32", epsilon: 0 },
  u32: { bytes: 4, kind: "int", compute: "u32", epsilon: 0 },
  i8: { bytes: 1, kind: "int", compute: "i32", epsilon: 0 },
  u8: { bytes: 1, kind: "int", compute: "u32", epsilon: 0 },
  // In memory 0 or 1; of what a caller brings, any other byte is taken for 1.
  bool: { bytes: 1, kind: "bool", compute: "bool", epsilon: 0 },
};

export const DTYPE_NAMES = Object.keys(DTYPES) as DType[];

/** Sets, because executions ask of each operation. */
const INTEGERS: ReadonlySet<ScalarKind> = new Set(DTYPE_NAMES.filter((name) => DTYPES[name].kind === "int"));
const FLOATS: ReadonlySet<ScalarKind> = new Set(DTYPE_NAMES.filter((name) => DTYPES[name].kind === "float"));

/** Whether whole numbers of a kind are narrower than those that are computed with. */
export function isNarrow(kind: ScalarKind): kind is "i8" | "u8" {
  return kind === "i8" || kind === "u8";
}

export function isDType(name: string): name is DType {
  return Object.hasOwn(DTYPES, name);
}

/** Whole numbers of elements, which wrap; indices do not. */
export function isInteger(kind: ScalarKind): boolean {
  return INTEGERS.has(kind);
}

/** Whether values of a kind are rounded. */
export function isFloat(kind: ScalarKind): boolean {
  return FLOATS.has(kind);
}

/**
 * The smallest number of a kind; none for floats and i64. The ends of indices are those that a number counts exactly, so that the emulation and a GPU compute
 * on with the same.
 */
export const LOWEST: Partial<Record<ScalarKind, number>> = {
  index: Number.MIN_SAFE_INTEGER,
  i32: -(2 ** 31),
  u32: 0,
  i8: -128,
  u8: 0,
  bool: 0,
};
/** The largest number of a kind. */
export const HIGHEST: Partial<Record<ScalarKind, number>> = {
  index: Number.MAX_SAFE_INTEGER,
  i32: 2 ** 31 - 1,
  u32: 2 ** 32 - 1,
  i8: 127,
  u8: 255,
  bool: 1,
};
