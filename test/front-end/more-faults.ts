/** Faults that share a code with others, several faults at once, and what must not follow from a fault. */
import { element, inTiles, loops, signed, tensors } from "./faults.js";
import type { CheckSettings, Expected } from "./helpers.js";

interface Case {
  readonly text: string;
  readonly expected: readonly Expected[];
  readonly settings?: CheckSettings;
}

export const MORE_FAULTS: Record<string, Case> = {
  "a comma between conditions": {
    text: "collective f(x: T[m, n] sharded(0)) -> y: T[m, n] replicated\n  where m >= 4⟦,⟧ n >= 2 { y = all_gather(x, dim: 0) }\n",
    expected: [{ code: "syntax", help: /joined with `and`/ }],
  },
  "a comma between outputs": {
    text: "collective f(x: T[n] replicated) -> y: T[n] replicated⟦,⟧ z: T[n] replicated { y = x }\n",
    expected: [{ code: "syntax", help: "several outputs stand in parentheses" }],
  },
  "a length beside whole tensors": {
    text: "collective f(x: T[m, n] replicated) -> y: T[m, 1] replicated {\n  y = sum(x, dim: 1) / T(⟦n⟧)\n}\n",
    expected: [{ code: "not-a-whole-tensor", message: "'n', a dimension", help: "mean(t, dim: 1)" }],
  },
  "a number that no tensor uses": {
    text: "collective f(x: T[n] partial(sum), eps: f32) -> y: T[n] replicated {\n  let a = 2 * eps\n  let ⟦b⟧ = a * 3\n  y = all_reduce(x)\n}\n",
    expected: [{ code: "unused", message: "the let 'b' is never used", help: "remove it, or use it" }],
  },
  "a rank that does not exist in a layout": {
    text: signed("(x: T[4] ⟦on(4)⟧) -> y: T[4] local"),
    expected: [{ code: "bad-layout-argument", message: "there are 4 ranks", help: /the last is 3/ }],
  },
  "a reduction that does not exist in a layout": {
    text: signed("(x: T[4] ⟦partial(summ)⟧) -> y: T[4] local"),
    expected: [{ code: "bad-layout-argument", help: "did you mean 'sum'?" }],
  },
  "a number for the sum of all ranks": {
    text: "collective f(x: T[n] partial(sum)) -> (y: T[n] replicated, ⟨z: T[n] partial(sum)⟩) {\n  y = all_reduce(x)\n  z = ⟦1⟧\n}\n",
    expected: [{ code: "layout-mismatch", message: "replicated" }],
  },
  "nothing follows from a faulty declaration": {
    text: "collective f(x: T[n] ⟦part(sum)⟧, b: ⟦f23⟧[n] local) -> y: T[n] replicated {\n  y = all_reduce(x) + b\n}\n",
    expected: [{ code: "unknown-layout" }, { code: "unknown-dtype" }],
  },
  "a layout without its argument": {
    text: signed("(x: T[4] ⟦sharded⟧) -> y: T[4] local"),
    expected: [{ code: "bad-layout-argument", help: "sharded(0)" }],
  },
  "a layout with an argument too many": {
    text: signed("(x: T[4] ⟦local(0)⟧) -> y: T[4] local"),
    expected: [{ code: "bad-layout-argument", message: "takes nothing" }],
  },
  "a scratch shape with a misspelt dimension": {
    text: "collective f(x: T[rows] local) -> y: T[rows] local {\n  scratch s: T[⟦row⟧]\n  for i in tiles(rows) {\n    s[i] = x[i]\n    y[i] = s[i]\n  }\n}\n",
    expected: [{ code: "unknown-name", help: "did you mean 'rows'?" }],
  },
  "a scratch shape that differs from rank to rank": {
    text: loops("  scratch s: T[⟦rank + 1⟧]\n  for i in tiles(n) {\n    s[0] = x[i]\n    y[i] = s[0]\n  }").replace(
      /s\[0\] = x\[i\]/,
      "s[i] = x[i]",
    ),
    expected: [{ code: "bad-dimension" }],
  },
  "a scratch shape of nothing": {
    text: loops("  scratch s: T[⟦0⟧]\n  for i in tiles(n) {\n    s[i] = x[i]\n    y[i] = s[i]\n  }"),
    expected: [{ code: "bad-dimension", message: "the length 0" }],
  },
  "an unknown function of a dtype": {
    text: signed("(x: T[4] local) -> y: ⟦acumulator⟧(T)[4] local"),
    expected: [{ code: "unknown-dtype", help: "did you mean 'accumulator'?" }],
  },
  "an unknown dtype in a where": {
    text: signed("(x: T[4] local) -> y: T[4] local where T in (f16, ⟦bf61⟧)"),
    expected: [{ code: "unknown-dtype", help: "did you mean 'bf16'?" }],
  },
  "two limits on one variable": {
    text: signed("(x: T[4] local) -> y: T[4] local where T in (f32) where ⟦T⟧ in (f32)"),
    expected: [{ code: "duplicate-name" }],
  },
  "a dimension that is a tensor": {
    text: signed("(⟦x⟧: T[⟨x⟩] local) -> y: T[4] local"),
    expected: [{ code: "duplicate-name" }],
  },
  "an ensures about something else": {
    text: signed("(x: T[4] local) -> y: T[4] local ensures ⟦x⟧ == x"),
    expected: [{ code: "type-mismatch", message: "an output" }],
  },
  "an ensures of an output": {
    text: signed("(x: T[4] local) -> (y: T[4] local, z: T[4] local) ensures z == x + ⟦y⟧ * 2").replace(
      "y[i] = x[i]",
      "y[i] = x[i]\n    z[i] = x[i]",
    ),
    expected: [{ code: "type-mismatch", message: "an output", help: /in terms of the inputs/ }],
  },
  "an ensures about nothing": {
    text: signed("(x: T[4] local) -> yes: T[4] local ensures ⟦yess⟧ == x").replace("y[i]", "yes[i]"),
    expected: [{ code: "unknown-name", help: "did you mean 'yes'?" }],
  },
  "an ensures of another shape": {
    text: "collective f(x: T[n] local, b: T[m] local) -> ⟨y: T[n] local⟩ ensures y == ⟦b⟧ {\n  for i in tiles(n) {\n    y[i] = x[i] + b[0]\n  }\n}\n",
    expected: [{ code: "shape-mismatch" }],
  },
  "an ensures that names a let": {
    text: "collective f(x: T[n] local) -> y: T[n] local ensures y == ⟦v⟧ {\n  let v = 1\n  for i in tiles(n) {\n    y[i] = x[i] * v\n  }\n}\n",
    expected: [{ code: "unknown-name" }],
  },
  "an input that is not used": {
    text: "collective f(x: T[n] local, ⟦w: T[n] local⟧) -> y: T[n] local {\n  for i in tiles(n) {\n    y[i] = x[i]\n  }\n}\n",
    expected: [{ code: "unused", message: "the input 'w'" }],
  },
  "a scratch array that is only written": {
    text: loops("  ⟦scratch s: T[n]⟧\n  for i in tiles(n) {\n    s[i] = x[i]\n    y[i] = x[i]\n  }"),
    expected: [{ code: "unused", message: "the scratch array 's' is written and never read", help: /^read it, or/ }],
  },
  "a scratch array that is nowhere else": {
    text: loops("  ⟦scratch s: T[n]⟧\n  for i in tiles(n) {\n    y[i] = x[i]\n  }"),
    expected: [{ code: "unused", message: "the scratch array 's' is never used", help: "remove it, or use it" }],
  },
  "an unused let in a block": {
    text: inTiles("let ⟦v⟧ = x[i]\n    y[i] = x[i]"),
    expected: [{ code: "unused" }],
  },
  "an unused let of a tensor": {
    text: "collective f(x: T[n] partial(sum)) -> y: T[n] replicated {\n  let ⟦v⟧ = x + x\n  y = all_reduce(x)\n}\n",
    expected: [{ code: "unused" }],
  },
  "a misspelt peers": {
    text: loops("  for p in ⟦peer⟧ {\n    for i in tiles(n) {\n      y[i] = x@p[i]\n    }\n  }"),
    expected: [{ code: "unknown-name", help: "did you mean `peers`?" }],
  },
  "rank for ranks": {
    text: loops("  for p in ⟦rank⟧ {\n    for i in tiles(n) {\n      y[i] = x@p[i]\n    }\n  }"),
    expected: [{ code: "not-a-range", help: "did you mean `ranks`?" }],
  },
  "the variable of a reduction behind the product that it takes in": {
    text: element("(sum(p in ranks) x@p[i] + x@⟦p⟧[0])"),
    expected: [{ code: "unknown-name", help: /^'p' is known in what its reduction takes in/ }],
  },
  "a misspelt conversion": {
    text: tensors("⟦all_reduced⟧(part)"),
    expected: [{ code: "unknown-function", help: "did you mean 'all_reduce'?" }],
  },
  "a conversion among elements": {
    text: element("⟦all_reduce(x)⟧"),
    expected: [{ code: "mixed-body", message: /whole tensors/ }],
  },
  "a tensor called like a function": {
    text: element("⟦x⟧(i)"),
    expected: [{ code: "unknown-function", help: /x\[i\]/ }],
  },
  "a number for a condition": {
    text: tensors("where(⟦whole⟧, whole, whole)"),
    expected: [{ code: "type-mismatch", message: "a condition is needed", help: /x > 0/ }],
  },
  "a condition for a number": {
    text: tensors("whole + ⟦(whole > 0)⟧"),
    expected: [{ code: "type-mismatch", message: "a tensor of numbers", help: /where/ }],
  },
  "a comparison of sums that are not there yet": {
    text: tensors("where(⟦⟨part⟩ > 0⟧, 1, 0)"),
    expected: [{ code: "not-linear", help: "reduce it first: all_reduce(part) > 0" }],
  },
  "a maximum of sums that are not there yet": {
    text: tensors("⟦max(⟨part⟩, dim: 0)⟧", "replicated", "1"),
    expected: [{ code: "not-linear", help: "reduce it first: max(all_reduce(part), dim: 0)" }],
  },
  "a fold without its dimension": {
    text: tensors("⟦sum(whole)⟧", "replicated", "1"),
    expected: [{ code: "missing-argument", message: "the dimension it folds" }],
  },
  "an average by its other name": {
    text: tensors("⟦avg⟧(whole, dim: 0)", "replicated", "1"),
    expected: [{ code: "unknown-function", help: /mean\(x, dim: d\)/ }],
  },
  "a range of a dimension": {
    text: "collective f(x: T[n] partial(sum)) -> y: T[n] replicated\n  where ⟦n⟧ in 4..world * 9 {\n  y = all_reduce(x)\n}\n",
    expected: [{ code: "type-mismatch", message: "this is a dimension", help: "write n >= 4 and n < world * 9" }],
  },
  "a range of a number": {
    text: "collective f(x: T[n] partial(sum), lr: f32) -> y: T[n] replicated\n  where ⟦lr⟧ in 0..9 {\n  y = all_reduce(x) * T(lr)\n}\n",
    expected: [{ code: "type-mismatch", message: "this is a number of the launch", help: /^what depends on its size/ }],
  },
  "a reduction said to a conversion": {
    text: tensors("⟦all_reduce(part, max)⟧"),
    expected: [{ code: "wrong-arity", message: "'all_reduce' takes 1 tensor, not 2", help: /^written all_reduce\(t\); which reduction/ }], // prettier-ignore
  },
  "dimensions to swap": {
    text: tensors("⟦transpose(whole, 0, 1)⟧"),
    expected: [{ code: "wrong-arity", help: /permute\(t, d, …\) takes any order/ }],
  },
  "a broadcast along a dimension": {
    text: tensors("broadcast(whole, ⟦dim⟧: 0)"),
    expected: [{ code: "unknown-argument", help: /^it takes over: written broadcast\(t\), from one rank to all/ }],
  },
  "a function of another system": {
    text: tensors("⟦matmul⟧(whole, whole)"),
    expected: [{ code: "unknown-function", help: "a product of matrices is a @ b" }],
  },
  "a function of another system, of elements": {
    text: element("⟦clamp⟧(x[i], 0, 1)"),
    expected: [{ code: "unknown-function", help: "it is max(min(t, most), least)" }],
  },
  "a function that nobody has": {
    text: tensors("⟦zzzzzzzz⟧(whole)"),
    expected: [{ code: "unknown-function", help: /^functions are all_reduce, .*concat, .*, relu, and dtypes$/ }],
  },
  "a bias of another length": {
    text: tensors("⟦⟨c⟩ + ⟨long⟩⟧", "replicated", "k, n"),
    expected: [{ code: "shape-mismatch", message: "the last dimensions are n and n + 1" }],
  },
  "a bias on summands": {
    text: tensors("all_reduce(⟦⟨a @ b⟩ + ⟨whole⟩⟧)", "replicated", "m, n"),
    expected: [{ code: "operand-layouts", message: "partial(sum) and replicated", help: /all_reduce\(a @ b\)/ }],
  },
  "rows and columns": {
    text: tensors("⟦⟨rows⟩ + ⟨turned⟩⟧", "sharded(0)", "m, n"),
    expected: [{ code: "operand-layouts", help: /all_to_all\(turned, dim: 0\)/ }],
  },
  "a shape of another size": {
    text: tensors("⟦reshape(c, n, n)⟧", "replicated", "n, n"),
    expected: [{ code: "shape-mismatch", message: /they hold k \* n and n \* n elements/ }],
  },
  "a shape across shards": {
    text: tensors("⟦reshape(rows, n, m)⟧", "sharded(0)", "n, m").replace(
      "rows: T[m, n] sharded(0)",
      "rows: T[m, n] sharded(1)",
    ),
    expected: [{ code: "across-shards", help: "all_gather(rows)" }],
  },
  "a slice of nothing": {
    text: tensors("whole[⟦2..2⟧]", "replicated", "1"),
    expected: [{ code: "bad-slice", message: "holds nothing" }],
  },
  "a slice of every rank's own": {
    text: tensors("whole[⟦rank⟧..n]", "replicated", "n"),
    expected: [{ code: "bad-slice", message: "known before a launch" }],
  },
  "a slice with too few ranges": {
    text: tensors("⟦c[0..1]⟧", "replicated", "1, n"),
    expected: [{ code: "wrong-index-count", message: "2 dimensions" }],
  },
  "an index without a range among tensors": {
    text: tensors("⟦whole[0]⟧", "replicated", "1"),
    expected: [{ code: "not-a-whole-tensor", message: "a single element", help: "as in whole[0..1]" }],
  },
  "an index without a range of what is computed": {
    text: tensors("⟦(c + c)[0, 1]⟧", "replicated", "1, 1"),
    expected: [{ code: "not-a-whole-tensor", message: "a single element", help: "as in (c + c)[0..1, 0..1]" }],
  },
  "a part of a number": {
    text: tensors("whole + ⟦(2)⟧[..]"),
    expected: [{ code: "not-a-whole-tensor", message: "a number" }],
  },
  "a part that ends behind what is computed": {
    text: tensors("relu(whole * 2)[⟦1..n + 1⟧]"),
    expected: [{ code: "bad-slice", message: "of 'relu(whole * 2)' ends at n" }],
  },
  "a part across the shards of what is computed": {
    text: tensors("(rows + 1)[⟦0..4⟧, ..]", "sharded(0)", "4, n"),
    expected: [{ code: "across-shards", help: "all_gather(rows + 1)" }],
  },
  "a part of a part with too few ranges": {
    text: tensors("⟦c[.., 0..1][..]⟧", "replicated", "k, 1"),
    expected: [{ code: "wrong-index-count", message: "2 dimensions, and this gives 1 range" }],
  },
  "an element of what is computed": {
    text: element("⟦(x[i] * 2)[0]⟧ + ⟦exp(x[i])[0..1]⟧ + ⟦x[i][i]⟧"),
    expected: [
      { code: "not-a-tensor", message: "'x[i] * 2' is an f32 element", help: "index the tensors inside it" },
      { code: "not-a-tensor", message: "'exp(x[i])'" },
      { code: "not-a-tensor", message: "'x[i]'" },
    ],
  },
  "an index of a computed tensor among elements": {
    text: element("(⟦x⟧ * 2)[i]"),
    expected: [{ code: "tensor-as-value", help: "x[i]" }],
  },
  "ranges on a peer": {
    text: element("⟦x@0[0..1, i]⟧"),
    expected: [{ code: "range-as-index" }],
  },
  "a part that is assigned to": {
    text: inTiles("y⟦[0..2, i]⟧ = x[i]"),
    expected: [{ code: "range-as-index", help: "loop over it" }],
  },
  "tensors one after the other across shards": {
    text: tensors("concat(⟦rows⟧, rows, dim: 0)", "sharded(0)", "2 * m, n"),
    expected: [{ code: "across-shards", help: "all_gather(rows)" }],
  },
  "tensors of several layouts one after the other": {
    text: tensors("⟦concat(⟨part⟩, ⟨whole⟩, dim: 0)⟧", "replicated", "2 * n"),
    expected: [{ code: "operand-layouts", help: /all_reduce\(part\)/ }],
  },
  "a condition as a result": {
    text: tensors("⟦whole > 0⟧"),
    expected: [{ code: "type-mismatch", help: /makes it 0 or 1/ }],
  },
  "a dimension cut twice": {
    text: tensors("⟦all_to_all(cut, dim: 0)⟧", "sharded(0)"),
    expected: [{ code: "bad-conversion" }],
  },
  "a dimension that does not exist": {
    text: tensors("⟦reduce_scatter(part, dim: 1)⟧", "sharded(0)"),
    expected: [{ code: "bad-layout-argument", message: "1 dimension" }],
  },
  "a rank that does not exist in a conversion": {
    text: tensors("⟦reduce(part, to: 9)⟧", "on(0)"),
    expected: [{ code: "no-such-rank" }],
  },
  "a contracted dimension cut on one side": {
    text: tensors("⟦⟨a⟩ @ ⟨c⟩⟧", "replicated", "m, n"),
    expected: [{ code: "operand-layouts", help: /'k' is cut on the left only/ }],
  },
  "rows and columns that do not meet": {
    text: tensors("⟦⟨rows⟩ @ ⟨c⟩⟧", "sharded(0)", "m, n"),
    expected: [{ code: "shape-mismatch", message: "n columns meet k rows" }],
  },
  "layouts that do not meet": {
    text: tensors("⟦⟨cut⟩ + ⟨first⟩⟧", "sharded(0)"),
    expected: [{ code: "operand-layouts", help: "broadcast(first)" }],
  },
  "an axis that a layout leaves out": {
    text: "collective f(x: T[m, n] sharded(0, dp) sharded(1, tp), w: T[n] sharded(0, tp)) -> y: T[m, n] sharded(0, dp) sharded(1, tp)\n  mesh(dp, tp) {\n  y = ⟦⟨x⟩ * ⟨w⟩⟧\n}\n",
    expected: [{ code: "operand-layouts", help: "'w' says nothing of the axis dp, so along it each rank has values of its own; if they are the same, declare it replicated(dp) sharded(0, tp)" }], // prettier-ignore
  },
  "an axis that a factor leaves out": {
    text: "collective f(x: T[m, k] sharded(0, dp) sharded(1, tp), w: T[k, n] sharded(0, tp)) -> y: T[m, n] sharded(0, dp) replicated(tp)\n  mesh(dp, tp) {\n  y = all_reduce(⟦⟨x⟩ @ ⟨w⟩⟧, over: tp)\n}\n",
    expected: [{ code: "operand-layouts", help: /'w' says nothing of the axis dp/ }],
  },
  "a gathered dimension that is not the cut one": {
    text: tensors("⟦all_gather(⟨a⟩, dim: 0)⟧"),
    expected: [{ code: "bad-conversion", help: "dim: 1" }],
  },
  "min of parts": { text: tensors("all_reduce(⟦min(⟨part⟩, whole)⟧)"), expected: [{ code: "not-linear" }] },
  "scaling of a maximum": { text: tensors("all_reduce(⟦2 * ⟨most⟩⟧)"), expected: [{ code: "not-linear" }] },
  "a fraction beside whole numbers": { text: tensors("⟦count * 0.5⟧"), expected: [{ code: "dtype-mismatch" }] },
  "exp of whole numbers": { text: tensors("⟦exp(count)⟧"), expected: [{ code: "needs-float" }] },
  "a dimension assigned": {
    text: inTiles("⟦n⟧ = 3\n    y[i] = x[i]"),
    expected: [{ code: "assign-to-value", message: "a dimension" }],
  },
  "the rank assigned": { text: inTiles("⟦rank⟧ = 3\n    y[i] = x[i]"), expected: [{ code: "assign-to-value" }] },
  "an index stored": {
    text: element("⟦i⟧ ").replace("x: T[n] local", ""),
    expected: [{ code: "needs-cast", help: "f32(…)" }],
  },
  "a condition stored": { text: element("⟦x[i] > 0⟧"), expected: [{ code: "type-mismatch" }] },
  "a peer among none": { text: element("x@(⟦0 - 1⟧)[i]"), expected: [{ code: "no-such-rank", message: "-1" }] },
  "a peer of a loop that does not exist": { text: element("x@⟦q⟧[i]"), expected: [{ code: "unknown-name" }] },
  "a name out of its block": {
    text: loops(
      "  for i in tiles(n) {\n    let v = x[i]\n    y[i] = v\n  }\n  for j in tiles(n) {\n    y[j] = ⟦v⟧\n  }",
    ),
    expected: [{ code: "unknown-name" }],
  },
  "a barrier in a loop of varying length": {
    text: loops("  for k in ⟨0..rank⟩ {\n    ⟦barrier⟧\n  }\n  for i in tiles(n) {\n    y[i] = x[i]\n  }"),
    expected: [{ code: "barrier-may-hang" }],
  },
  "an unknown name is said once, and nothing follows from it": {
    text: loops("  let a = ⟦q⟧ + 1\n  let b = a * q\n  for i in tiles(b) {\n    y[i] = x[a] + b\n  }"),
    expected: [{ code: "unknown-name" }],
  },
  "several faults at once": {
    text: loops("  let a = ⟦qq⟧\n  for i in tiles(n) {\n    ⟦x⟧[i] = 1\n    y[i] = x@⟦7⟧[i] + ⟦sqr⟧(1.0)\n  }"),
    expected: [
      { code: "unknown-name" },
      { code: "assign-to-input" },
      { code: "no-such-rank" },
      { code: "unknown-function" },
    ],
  },
};
