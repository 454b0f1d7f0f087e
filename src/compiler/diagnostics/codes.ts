/**
 * Every diagnostic, as data: severity, message and help with parameters in braces, and one sentence that explains
 * the rule. `create.ts` types the parameters from the templates; tests see to it that each row can be produced.
 */
export const CODES = {
  // -- reading the text ----------------------------------------------------------------------------
  "unknown-character": {
    severity: "error",
    message: "{text} has no meaning in Coll",
    help: "remove it",
    explain: "The text holds a character that begins no token.",
  },
  syntax: {
    severity: "error",
    message: "expected {expected}, found {found}",
    explain: "The text does not follow the grammar at this place.",
  },
  // -- names ---------------------------------------------------------------------------------------
  "unknown-collective": {
    severity: "error",
    message: "there is no collective '{name}' in this file",
    help: "it has {known}",
    explain: "The collective asked for is not defined.",
  },
  "ambiguous-collective": {
    severity: "error",
    message: "this file has {count} collectives",
    help: "name one: {known}",
    explain: "A file with several collectives needs the name of one.",
  },
  "empty-file": {
    severity: "error",
    message: "this file has no collective",
    help: "write one, beginning: collective name(x: T[n] partial(sum)) -> y: T[n] replicated",
    explain: "Only collectives can be compiled.",
  },
  "duplicate-collective": {
    severity: "error",
    message: "the collective '{name}' is defined twice",
    help: "rename one of them",
    explain: "Collectives of a file have different names.",
  },
  "duplicate-name": {
    severity: "error",
    message: "the name '{name}' is taken",
    help: "choose another name",
    explain: "A name means one thing in a collective; nothing is shadowed.",
  },
  "reserved-name": {
    severity: "error",
    message: "'{name}' cannot be defined: it already means {meaning}",
    help: "choose another name",
    explain: "`rank`, `world`, functions and dtypes keep their meaning.",
  },
  "unknown-name": {
    severity: "error",
    message: "nothing is named '{name}' here",
    explain: "A name is used that no parameter, dimension, scratch array, loop or let defines.",
  },
  "unknown-function": {
    severity: "error",
    message: "there is no function '{name}'",
    explain: "A call names no function, cast or conversion.",
  },
  "unknown-dtype": {
    severity: "error",
    message: "there is no dtype '{name}'",
    help: "dtypes are {known}; a capitalised name stands for any of them",
    explain: "Element types are fixed; a variable begins with a capital letter.",
  },
  "unknown-layout": {
    severity: "error",
    message: "there is no layout '{name}'",
    help: "layouts are replicated, sharded(d), partial(op), on(r) and local",
    explain: "Every parameter says how it lies over the ranks.",
  },
  "unknown-argument": {
    severity: "error",
    message: "'{callee}' takes no argument '{name}'",
    help: "it takes {known}",
    explain: "A named argument does not exist.",
  },
  unused: {
    severity: "warning",
    message: "'{name}' is never used",
    help: "remove it, or use it",
    explain: "A parameter, let or scratch array has no effect.",
  },
  // -- layouts and shapes --------------------------------------------------------------------------
  "bad-layout-argument": {
    severity: "error",
    message: "{layout} does not fit: {reason}",
    help: "{fix}",
    explain: "The dimension, rank or reduction of a layout must exist.",
  },
  "does-not-divide": {
    severity: "error",
    message: "{length} elements cannot be cut into {world} equal shards",
    help: "use a length that divides by {world}, or cut with chunk(n, r), which takes any length",
    explain: "`sharded` and `shard` give every rank the same number of elements.",
  },
  "layout-mismatch": {
    severity: "error",
    message: "'{name}' is declared {declared}, but the expression is {found}",
    explain: "The layout that follows from the expression must be the declared one.",
  },
  "operand-layouts": {
    severity: "error",
    message: "{operation} of {left} and {right} is not possible",
    explain: "The operands' layouts do not go together: no rank has what it needs.",
  },
  "not-linear": {
    severity: "error",
    message: "{operation} of a partial({op}) tensor is not the {op} of the parts",
    help: "convert it first: all_reduce(…)",
    explain: "Only linear operations may act on summands before they are summed.",
  },
  "bad-conversion": {
    severity: "error",
    message: "{callee} takes {wanted}, not {found}",
    explain: "A conversion starts from one kind of layout.",
  },
  "shape-mismatch": {
    severity: "error",
    message: "{left} and {right} do not fit together: {reason}",
    explain: "Shapes must agree for the operation.",
  },
  "not-a-matrix": {
    severity: "error",
    message: "a matrix product needs two dimensions on each side; this has {rank}",
    explain: "`@` multiplies matrices.",
  },
  "dtype-mismatch": {
    severity: "error",
    message: "the operands hold {left} and {right}",
    help: "cast one of them",
    explain: "Tensor operations work on one dtype.",
  },
  "mixed-body": {
    severity: "error",
    message: "whole tensors and single elements are assigned in one body",
    help: "write the elements in a tiles loop, or everything as tensor expressions",
    explain: "A body is either tensor expressions or explicit loops.",
  },
  // -- elements and statements ---------------------------------------------------------------------
  "wrong-index-count": {
    severity: "error",
    message: "'{name}' has {wanted} dimensions, and this gives {found} indices",
    explain: "An element is named by one index a dimension.",
  },
  "not-a-tensor": {
    severity: "error",
    message: "'{name}' is not a tensor",
    help: "only parameters and scratch arrays have elements",
    explain: "A number or loop variable is indexed or read from a peer.",
  },
  "tensor-as-value": {
    severity: "error",
    message: "the whole tensor '{name}' stands where a single value is needed",
    help: "index it: {name}[…]",
    explain: "Explicit loops work on elements.",
  },
  "missing-matmul-spaces": {
    severity: "error",
    message: "'{left}@{right}' reads '{left}' on a peer, but has no index",
    help: "for the matrix product write spaces: {left} @ {right}; for a peer's element, an index: {left}@{right}[i]",
    explain: "`@` without spaces is access to a peer, with spaces the matrix product.",
  },
  "type-mismatch": {
    severity: "error",
    message: "{wanted} is needed here, and this is {found}",
    explain: "Indices, values and conditions are different things.",
  },
  "needs-cast": {
    severity: "error",
    message: "an index and an element are mixed",
    help: "cast the index: f32(…)",
    explain: "Only literals become elements by themselves.",
  },
  "no-such-rank": {
    severity: "error",
    message: "there is no rank {rank} among {world}",
    help: "ranks count from 0 to world - 1",
    explain: "A constant rank lies outside the group.",
  },
  "no-such-member": {
    severity: "error",
    message: "a range has no '{name}'",
    help: "it has start, end and length",
    explain: "Ranges have three numbers.",
  },
  "wrong-arity": {
    severity: "error",
    message: "'{name}' takes {wanted}, not {found}",
    explain: "A function is called with too few or too many arguments.",
  },
  "wrong-variable-count": {
    severity: "error",
    message: "this loop has {found} variables for {wanted} ranges",
    help: "give one variable a range",
    explain: "Each range of `tiles` has a variable.",
  },
  "assign-to-input": {
    severity: "error",
    message: "'{name}' is an input and cannot be assigned",
    help: "assign to an output or to a scratch array",
    explain: "Inputs belong to the caller.",
  },
  "assign-to-value": {
    severity: "error",
    message: "'{name}' cannot be assigned: it is {kind}",
    help: "a let names a value once; use a scratch array for memory",
    explain: "Only outputs and scratch arrays are memory.",
  },
  "output-not-assigned": {
    severity: "error",
    message: "the output '{name}' is never assigned",
    help: "assign every element of it",
    explain: "A collective must produce its outputs.",
  },
  "nested-tiles": {
    severity: "error",
    message: "a tiles loop stands inside another",
    help: "give one loop two variables: for i, j in tiles(…, …)",
    explain: "The elements of one loop are spread over the whole machine.",
  },
  "tiles-without-memory": {
    severity: "error",
    message: "an element is stored outside a tiles loop",
    help: "put it inside: for i in tiles(n)",
    explain: "Only tiles loops give work to threads.",
  },
  "barrier-in-tiles": {
    severity: "error",
    message: "a barrier stands inside a tiles loop",
    help: "end the loop, place the barrier, and begin another",
    explain: "Elements are handled in any order and cannot wait for each other.",
  },
  "barrier-may-hang": {
    severity: "error",
    message: "not all ranks reach this barrier",
    help: "move it out of the condition",
    explain: "A barrier under a condition that differs from rank to rank hangs.",
  },
  "dtype-not-allowed": {
    severity: "error",
    message: "{variable} cannot be {dtype} here",
    help: "it may be {allowed}",
    explain: "A `where` clause limits a dtype variable.",
  },
  "fold-not-supported": {
    severity: "error",
    message: "there is no reduction '{name}'",
    help: "reductions are sum, avg, min, max and prod",
    explain: "A fold over ranks or indices names a reduction.",
  },
} as const satisfies Record<string, { severity: "error" | "warning"; message: string; help?: string; explain: string }>;

export type DiagnosticCode = keyof typeof CODES;
