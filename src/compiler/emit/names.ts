/** Names in the printed text. */
import type { Kernel, Value } from "../ir/module.js";

/** The kernel's symbol: the collective's name and what it was compiled for. */
export function symbolName(kernel: Kernel): string {
  const dtypes = Object.values(kernel.dtypes);
  return ["coll", kernel.name, `w${kernel.world}`, ...dtypes].join("_");
}

/** C names for values, in order of printing; buffers and dims get prefixes, so that no user name meets a keyword. */
export class Names {
  private readonly values = new Map<Value, string>();

  of(v: Value): string {
    let name = this.values.get(v);
    if (name === undefined) this.values.set(v, (name = `v${this.values.size}`));
    return name;
  }

  set(v: Value, name: string): void {
    this.values.set(v, name);
  }
}

export function bufferName(buffer: string): string {
  return `b_${buffer}`;
}

export function scalarName(scalar: string): string {
  return `s_${scalar}`;
}

export function dimName(dim: string): string {
  return `d_${dim}`;
}
