/**
 * Every diagnostic, as data: severity, message and help with parameters in braces, and one sentence that explains
 * the rule. `create.ts` types the parameters from the templates; tests see to it that each row can be produced, and
 * that LANGUAGE.md lists it.
 */
interface Row {
  readonly severity: "error" | "warning";
  readonly message: string;
  readonly help?: string;
  /** The rule behind it, as one sentence for the reference. */
  readonly explain: string;
}

// prettier-ignore
export const CODES = {
  // -- reading the text ----------------------------------------------------------------------------
  "unknown-character": { severity: "error", message: "{text} has no meaning in Coll", help: "remove it", explain: "The text holds a character that begins no token." },
  "syntax": { severity: "error", message: "expected {expected}, found {found}", explain: "The text does not follow the grammar at this place." },
  "too-deep": { severity: "error", message: "this is nested more than {limit} levels deep", help: "name parts of it with `let`", explain: "Nesting is limited, so that every stage of the compiler ends." },
  "too-large": { severity: "error", message: "functions, put in place, make more than {limit} parts", help: "", explain: "What functions stand for is limited, so that every stage of the compiler ends." },
  "number-too-large": { severity: "error", message: "the number {number} is too large", help: "the largest is {limit}", explain: "Whole numbers stay below 2^53, values within the range of f32." },
  "program-too-long": { severity: "error", message: "this file has more than {limit} words and signs", help: "divide it, and import what belongs together", explain: "The length of a file is limited, so that every stage of the compiler ends." },
  "too-many-statements": { severity: "error", message: "a collective has at most {limit} statements", help: "say it with a loop", explain: "The length of a body is limited, so that every stage of the compiler ends." },
  "too-many-dimensions": { severity: "error", message: "a tensor of {count} dimensions is too much: {limit} is the most", help: "join neighbouring dimensions into one", explain: "Loops over a tensor's elements have a variable for each dimension, and there are at most 8." },
  "tensor-too-large": { severity: "error", message: "a tensor of {count} elements is larger than any memory", help: "the most is {limit}; is a length meant to be a dimension, such as n?", explain: "What lengths that are numbers multiply to is limited, so that indices and sizes in bytes are exact." },
  "loop-too-long": { severity: "error", message: "{count} iterations of a loop of fixed length are too many: {limit} is the most", help: "give the length as a dimension of a tensor, which may be anything at run time", explain: "Loops and reductions whose lengths are numbers, all those inside one another together, are limited: proofs and the emulation go through each iteration." },
  // -- names ---------------------------------------------------------------------------------------
  "empty-file": { severity: "error", message: "this file has no collective", help: "write one, beginning: collective name(x: T[n] partial(sum)) -> y: T[n] replicated", explain: "Only collectives can be compiled." },
  "unknown-collective": { severity: "error", message: "there is no collective '{name}' in this file", help: "it has {known}", explain: "The collective asked for is not defined." },
  "ambiguous-collective": { severity: "error", message: "this file has {count} collectives", help: "name one: {known}", explain: "A file with several collectives needs the name of one." },
  "duplicate-collective": { severity: "error", message: "the collective '{name}' is defined twice", help: "rename one of them", explain: "Collectives of a file have different names." },
  "duplicate-name": { severity: "error", message: "the name '{name}' is taken", help: "choose another name", explain: "A name means one thing at a place; nothing is shadowed." },
  "reserved-name": { severity: "error", message: "'{name}' cannot be defined: it already means {meaning}", help: "choose another name", explain: "`rank`, `world`, functions, reductions and dtypes keep their meaning." },
  "unknown-name": { severity: "error", message: "nothing is named '{name}' here", explain: "A name is used that no parameter, dimension, scratch array, loop or let defines." },
  "unknown-function": { severity: "error", message: "there is no function '{name}'", explain: "A call names no function, cast or conversion." },
  "unknown-reduction": { severity: "error", message: "there is no reduction '{name}'", help: "reductions are {known}", explain: "A reduction is sum, avg, min, max or prod." },
  "unknown-dtype": { severity: "error", message: "there is no dtype '{name}'", help: "dtypes are {known}; a capitalised name stands for any of them", explain: "Element types are fixed; a variable begins with a capital letter." },
  "unknown-dtype-variable": { severity: "error", message: "the signature has no dtype variable '{name}'", help: "it has {known}", explain: "A `where` clause limits a variable of the signature." },
  "dtype-not-allowed": { severity: "error", message: "{variable} cannot be {dtype} here", help: "it may be {allowed}", explain: "A `where` clause limits what a dtype variable stands for." },
  "unknown-layout": { severity: "error", message: "there is no layout '{name}'", help: "layouts are replicated, sharded(d), partial(op), on(r) and local", explain: "Every parameter says how it lies over the ranks." },
  "unknown-argument": { severity: "error", message: "'{callee}' takes no argument '{name}'", help: "{known}", explain: "A named argument does not exist." },
  "unused": { severity: "warning", message: "{kind} '{name}' is {fate}", help: "{fix}", explain: "An input or let that nothing reads, or a scratch array that is never read, has no effect." },
  // -- files, constants and functions --------------------------------------------------------------
  "import-not-found": { severity: "error", message: "there is no file \"{path}\"", help: "paths are relative to this file, or name a file of the library, such as \"all_reduce/ring.coll\"", explain: "An import names a file that can be read." },
  "import-broken": { severity: "error", message: "\"{path}\" has errors of its own", help: "check it first: collc check {path}", explain: "What is imported must be a correct program." },
  "import-unknown": { severity: "error", message: "\"{path}\" defines no '{name}'", help: "it has {known}", explain: "An import names functions, constants or collectives of the file." },
  "import-cycle": { severity: "error", message: "\"{path}\" is imported by what it imports", help: "move what both need into a third file", explain: "Files do not import each other in a circle." },
  "not-constant": { severity: "error", message: "{what} is not known when the file is compiled", help: "constants are made of numbers, `world`, the axes of a mesh and other constants", explain: "A constant is one number for all ranks and launches." },
  "recursive": { severity: "error", message: "'{name}' is defined by itself", help: "use a loop or a reduction", explain: "Functions and constants do not call themselves." },
  // -- scalar parameters ----------------------------------------------------------------------------
  "scalar-dtype": { severity: "error", message: "the number '{name}' cannot be {dtype}", help: "numbers that a launch is given are f32, i32 or u32; a tensor has a shape and a layout: {name}: {dtype}[n] replicated", explain: "A scalar parameter is what a register holds." },
  "scalar-output": { severity: "error", message: "the output '{name}' has no shape", help: "an output is memory: {name}: {dtype}[1] replicated", explain: "A launch is given numbers and gives tensors." },
  "not-in-place": { severity: "error", message: "'{name}' is {before} on each rank before, and {after} after: not the same memory", help: "give the output a name of its own", explain: "An output that is named like an input is that input, changed in place: on each rank, dtype and shape stay." },
  "scalar-steers": { severity: "error", message: "'{name}' decides here what is accessed, and only the launch knows it", help: "{fix}", explain: "What a scalar parameter is must not change what is read, stored or waited for: proofs hold for all its values." },
  // -- the machine and the launch ------------------------------------------------------------------
  "bad-choice": { severity: "error", message: "'{name}' is no number of ranks", help: "list whole numbers: where world in (2, 4, 8)", explain: "`where world in (…)` lists numbers of ranks." },
  "world-not-allowed": { severity: "error", message: "this collective is not for {world} ranks", help: "choose a number of ranks for which its `where` holds", explain: "A `where` clause limits the number of ranks." },
  "requirement-not-met": { severity: "error", message: "this can never hold: {left} is {value}", help: "the shapes or the number of ranks must be others", explain: "A `where` condition that is known to be false forbids every launch." },
  "bad-requirement": { severity: "error", message: "{what} cannot be decided before a launch", help: "compare dimensions, whole numbers and `world`, and join comparisons with `and`", explain: "`where` conditions are decided before anything runs." },
  "empty-range": { severity: "error", message: "nothing lies in {from}..{to}", help: "a range ends before its last number: {from}..{above} has {from} alone", explain: "What inputs promise is what some data can keep." },
  "mesh-does-not-fit": { severity: "error", message: "{world} ranks do not make a mesh of {sizes}", help: "the sizes of the axes multiply to the number of ranks", explain: "Every rank has one place in the mesh." },
  "unknown-axis": { severity: "error", message: "there is no axis '{name}'", help: "{known}", explain: "`mesh(…)` of the signature names the axes." },
  // -- shapes and layouts --------------------------------------------------------------------------
  "bad-dimension": { severity: "error", message: "{what} cannot be a dimension", help: "a shape is made of dimension names, whole numbers, `world`, and + - * / of them", explain: "Shapes are known before a launch and the same on every rank." },
  "bad-layout-argument": { severity: "error", message: "{layout} does not fit: {reason}", help: "{fix}", explain: "The dimension, rank or reduction in a layout must exist." },
  "does-not-divide": { severity: "error", message: "{length} elements cannot be cut into {world} equal shards", help: "use a length that divides by {world}, or cut with chunk(n, r), which takes any length", explain: "`sharded` and `shard` give every rank the same number of elements." },
  "shard-length": { severity: "error", message: "a shard's length cannot depend on {what}", help: "use dimensions, whole numbers and `world`, or cut with chunk(n, r)", explain: "That a length divides is checked before a launch, so it must be known by then." },
  "shape-mismatch": { severity: "error", message: "{left} and {right} do not fit together: {reason}", explain: "Shapes must agree for the operation." },
  "not-a-matrix": { severity: "error", message: "a matrix product needs two dimensions or more on each side; this has {rank}", explain: "`@` multiplies matrices, and batches of them." },
  "dtype-mismatch": { severity: "error", message: "the operands hold {left} and {right}", help: "cast one of them: {left}(…) or {right}(…)", explain: "Tensor operations work on one dtype." },
  "layout-mismatch": { severity: "error", message: "'{name}' is declared {declared}, but the expression is {found}", explain: "The layout that follows from the expression must be the declared one." },
  "operand-layouts": { severity: "error", message: "{operation} of {left} and {right} is not possible", explain: "The operands' layouts do not go together: no rank has what it needs." },
  "not-linear": { severity: "error", message: "{operation} of a partial({op}) tensor is not the {op} of the parts", help: "reduce it first: all_reduce(…)", explain: "Only linear operations may act on summands before they are summed." },
  "bad-conversion": { severity: "error", message: "'{callee}' takes {wanted}, and this is {found}", explain: "A conversion starts from one kind of layout." },
  "missing-argument": { severity: "error", message: "'{callee}' needs to know {what}", help: "add it: {callee}(…, {argument}: 0)", explain: "A conversion to `sharded` or `on` names the dimension or the rank, as a literal." },
  "across-shards": { severity: "error", message: "{what} goes across dimension {dim}, which lies over the ranks: the tensor is {layout}", help: "gather it first: {fix}", explain: "No rank has the parts of a sharded dimension side by side." },
  "bad-slice": { severity: "error", message: "this slice is not possible: {reason}", help: "a slice is a..b with 0 <= a < b <= the length, of dimensions, whole numbers and `world`", explain: "The bounds of a slice are known before a launch and lie inside the tensor." },
  "bad-permutation": { severity: "error", message: "this order does not name each of the {count} dimensions once", help: "name them as whole numbers from 0 to {last}, as in permute(x, 1, 0)", explain: "`permute` lists all dimensions in their new order." },
  "not-a-whole-tensor": { severity: "error", message: "{what} stands where a whole tensor is needed", help: "tensor expressions are made of tensors and literal numbers", explain: "Tensor expressions know no indices, ranks or elements." },
  "mixed-body": { severity: "error", message: "{what} stands inside a loop or a condition, or among elements", help: "give it a name with `let` at the top of the body, and index that name here", explain: "Tensor expressions stand at the top of a body; loops index what they name." },
  // -- elements ------------------------------------------------------------------------------------
  "wrong-index-count": { severity: "error", message: "'{name}' has {wanted}, and this gives {found}", explain: "An element is named by one index a dimension." },
  "index-out-of-range": { severity: "error", message: "index {index} is outside of dimension {dim} of '{name}', which has {length} elements", help: "indices are local to the rank and count from 0", explain: "A constant index must lie inside what one rank holds." },
  "nothing-there": { severity: "error", message: "rank {rank} has no part of '{name}'", help: "read it from the rank that has it: {name}@{root}[…]", explain: "Of a tensor that lies on one rank, the others hold nothing." },
  "missing-index": { severity: "error", message: "'{name}' is stored to without an index", help: "give the element's index: {name}[i]", explain: "In explicit loops, elements are stored one at a time." },
  "not-a-tensor": { severity: "error", message: "'{name}' is {kind} and has no elements", help: "parameters, scratch arrays and tensors named with `let` can be indexed", explain: "A number is indexed." },
  "not-remote": { severity: "error", message: "'{name}' is {kind}: no other rank can reach it", help: "keep it in a scratch array, which peers can read", explain: "Peers can reach parameters and scratch arrays alone." },
  "tensor-as-value": { severity: "error", message: "the whole tensor '{name}' stands where a single value is needed", help: "index it: {name}[i]", explain: "Explicit loops work on elements." },
  "missing-matmul-spaces": { severity: "error", message: "'{left}@{right}' reads '{left}' on a peer, but has no index", help: "for the matrix product write spaces: {left} @ {right}; for a peer's element, an index: {left}@{right}[i]", explain: "`@` without spaces is access to a peer, with spaces the matrix product." },
  "product-of-elements": { severity: "error", message: "a matrix product stands among elements", help: "write it as an expression of whole tensors: c = a @ b", explain: "`@` multiplies whole tensors." },
  "range-as-index": { severity: "error", message: "a range stands where one index is needed", help: "loop over it: for i in tiles(a..b)", explain: "Parts of tensors are taken in expressions of whole tensors." },
  "value-as-index": { severity: "error", message: "an index is needed here, and this is {found}", help: "indices are made of loop variables, dimensions, `rank`, `world` and whole numbers; an element of an integer tensor becomes one by index(…)", explain: "What is data becomes an index only where the program says so." },
  "type-mismatch": { severity: "error", message: "{wanted} is needed here, and this is {found}", explain: "Indices, elements and conditions are different things." },
  "needs-cast": { severity: "error", message: "{left} and {right} are mixed", help: "cast one of them: {cast}(…)", explain: "Only literals become elements of another type by themselves." },
  "number-out-of-range": { severity: "error", message: "the number {number} stands beside {beside}, which is never below {least} or above {greatest}", help: "compute in i64: i64(…)", explain: "A number beside an element is one of its dtype." },
  "needs-float": { severity: "error", message: "'{name}' works on floats, and this is {found}", help: "cast it: f32(…)", explain: "Functions such as exp have no meaning for whole numbers." },
  "division-by-zero": { severity: "error", message: "this divides by zero", explain: "A constant divisor of an index must not be 0." },
  "no-such-rank": { severity: "error", message: "there is no rank {rank} among {world}", help: "ranks count from 0 to world - 1", explain: "A constant rank lies outside the group." },
  "no-such-member": { severity: "error", message: "a range has no '{name}'", help: "it has start, end and length", explain: "Ranges have three numbers." },
  "wrong-arity": { severity: "error", message: "'{name}' takes {wanted}, not {found}", explain: "A function is called with too few or too many arguments." },
  // -- statements ----------------------------------------------------------------------------------
  "wrong-variable-count": { severity: "error", message: "this loop has {found} for {wanted}", help: "give one variable a range", explain: "Each range of `tiles` has a variable; other loops have one." },
  "not-a-range": { severity: "error", message: "'{text}' is a number, not a range", help: "to count up to it, write 0..{text}", explain: "A loop in order names both ends." },
  "tiles-in-reduction": { severity: "error", message: "a reduction cannot run over tiles", help: "a reduction runs in order: name its range, as in sum(k in 0..n)", explain: "Only loops spread their work over the machine." },
  "assign-to-input": { severity: "error", message: "'{name}' is an input and cannot be assigned", help: "assign to an output or to a scratch array; to change it in place, name it as an output, too: -> {name}: …", explain: "Inputs belong to the caller, but for those that an output names again." },
  "assign-to-value": { severity: "error", message: "'{name}' cannot be assigned: it is {kind}", help: "a let names a value once; use a scratch array for memory", explain: "Only outputs and scratch arrays are memory." },
  "assigned-twice": { severity: "error", message: "the output '{name}' is assigned twice", help: "name the first value with `let`", explain: "Among tensor expressions, an output is assigned once." },
  "read-before-assigned": { severity: "error", message: "'{name}' is read before it is assigned", help: "assign it above", explain: "Tensor expressions are evaluated from top to bottom." },
  "duplicate-ensures": { severity: "error", message: "'{name}' has two `ensures` clauses", help: "keep one", explain: "One clause says what an output equals." },
  "output-not-assigned": { severity: "error", message: "the output '{name}' is never assigned", help: "assign every element of it", explain: "A collective must produce its outputs." },
  "scratch-in-block": { severity: "error", message: "the scratch array '{name}' is declared inside a block", help: "declare it at the top of the body", explain: "A rank has one such array, however often a block runs." },
  "nested-tiles": { severity: "error", message: "a tiles loop stands inside another", help: "give one loop several variables, for i, j in tiles(m, n), or make the inner one a loop in order, for j in 0..n", explain: "A tiles loop spreads its elements over the whole machine already." },
  "store-outside-tiles": { severity: "error", message: "an element is stored outside of a tiles loop", help: "put it inside one: for i in tiles(n)", explain: "Only tiles loops give work to threads." },
  "same-element": { severity: "warning", message: "all iterations over {variables} store to the same element", help: "use {variables} in the index", explain: "Iterations of a tiles loop run in any order, so which one's value stays is chance." },
  "barrier-in-tiles": { severity: "error", message: "a barrier stands inside a tiles loop", help: "end the loop, place the barrier, and begin another loop", explain: "Elements are handled in any order and cannot wait for each other." },
  "barrier-in-unordered-loop": { severity: "error", message: "a barrier stands inside a loop over {domain}", help: "take the ranks in order: for p in 0..world", explain: "The iterations of a loop over ranks or peers run in any order, so nothing waits between them." },
  "sync-in-tiles": { severity: "error", message: "`{what}` stands inside a tiles loop", help: "end the loop, place it, and begin another loop", explain: "Signals and waits are a rank's, not an element's." },
  "sync-by-data": { severity: "error", message: "data decides whether or to whom this `{what}` goes", help: "let `rank` and lengths decide about signals and waits, and data about what is stored", explain: "All blocks of a rank signal and wait together, and each may find other data." },
  "wait-for-itself": { severity: "warning", message: "this rank signals and waits for itself", explain: "A rank's own statements are in order without signals." },
  "scalar-product": { severity: "warning", message: "no tensor core takes this product, and it will be slow: {reason}", explain: "Tensor cores multiply matrices of bf16 or f16 that lie in memory with even strides; on sm_90 those of i8, u8 and f8, too, where the depth goes along the rows of both, as in `a @ transpose(b)`." },
  "ensures-index": { severity: "error", message: "the index '{name}' of an `ensures` clause is taken", help: "choose a name that means nothing else", explain: "The indices of an `ensures` clause are new names." },
  "out-of-reach": { severity: "error", message: "{what} cannot go to ranks of other domains: {reason}", help: "let ranks and lengths alone decide what goes where, in one tiles loop for each transfer, or run it on ranks that share addresses", explain: "Between ranks that share no addresses there are messages of neighbouring elements, which both sides must know of before a launch." },
  "barrier-may-hang": { severity: "error", message: "not all ranks come to this barrier equally often", help: "move it out of what differs from rank to rank", explain: "A barrier under a condition or loop that differs from rank to rank hangs." },
} as const satisfies Record<string, Row>;

export type DiagnosticCode = keyof typeof CODES;
