/** Programs that are small to write and large to compile, with what collc has to say about each. For tests and the audit. */

const repeat = (count: number, line: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => line(i)).join("");
const body = (lines: string): string =>
  `collective c(x: T[n] local) -> y: T[n] local {\n  for i in tiles(n) {\n${lines}  }\n}\n`;
const shaped = (shape: string): string =>
  `collective c(x: T[${shape}] partial(sum)) -> y: T[${shape}] replicated {\n  y = all_reduce(x)\n}\n`;
const dims = (count: number): string => Array.from({ length: count }, (_, i) => `d${i}`).join(", ");

export const hostilePrograms: Readonly<Record<string, { readonly text: string; readonly expected: RegExp }>> = {
  "a tensor of 2^62 elements": { text: shaped("2147483648, 2147483648"), expected: /error\[tensor-too-large\]/ },
  "300 dimensions": { text: shaped(dims(300)), expected: /error\[too-many-dimensions\]/ },
  "9 dimensions": { text: shaped(dims(9)), expected: /error\[too-many-dimensions\]/ },
  "a sum of 10^12 terms": {
    text: body("    y[i] = sum(k in 0..1000000000000) x[i]\n"),
    expected: /error\[loop-too-long\]: 1000000000000 iterations/,
  },
  "nested sums": {
    text: body("    y[i] = sum(a in 0..1000) sum(b in 0..1000) sum(d in 0..1000) x[i]\n"),
    expected: /error\[loop-too-long\]/,
  },
  "a constant times itself": {
    text: `const A = 100000\n${body("    for k in 0..A * A {\n      y[i] = x[i]\n    }\n")}`,
    expected: /error\[loop-too-long\]/,
  },
  "10,000 stores": { text: body(repeat(10_000, () => "    y[i] = x[i]\n")), expected: /error\[too-many-statements\]/ },
  "100,000 lets": {
    text: body(
      `    let a0 = x[i]\n${repeat(100_000, (i) => `    let a${i + 1} = a${i} + x[i]\n`)}    y[i] = a100000\n`,
    ),
    expected: /error\[program-too-long\]/,
  },
  "functions that double": {
    text: `fn f0(a) = a + a\n${repeat(40, (i) => `fn f${i + 1}(a) = f${i}(a) + f${i}(a)\n`)}${body("    y[i] = f40(x[i])\n")}`,
    expected: /error\[too-large\]/,
  },
  "brackets without end": {
    text: body(`    y[i] = ${"(".repeat(5000)}x[i]${")".repeat(5000)}\n`),
    expected: /error\[too-deep\]/,
  },
  "a sum of 100,000 operands": {
    text: body(`    y[i] = x[i]${" + x[i]".repeat(100_000)}\n`),
    expected: /error\[(too-deep|program-too-long)\]/,
  },
  "numbers beyond all bounds": {
    text: `const A = 1000000000000\nconst B = A * A\n${body("    y[i] = x[i + B - B]\n")}`,
    expected: /error\[number-too-large\]/,
  },
};
