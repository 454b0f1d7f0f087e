/** Source text and places in it. Every node, op and diagnostic points here. */

/** Half-open range of UTF-16 code units in one source file. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

export const NO_SPAN: Span = { start: 0, end: 0 };

export interface Position {
  /** 1-based. */
  readonly line: number;
  /** 1-based, in UTF-16 code units. */
  readonly column: number;
}

/** One source file with fast offset → line/column look-up. */
export class SourceFile {
  private readonly lineStarts: number[] = [0];

  constructor(
    readonly name: string,
    readonly text: string,
  ) {
    for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) === 10) this.lineStarts.push(i + 1);
  }

  get lineCount(): number {
    return this.lineStarts.length;
  }

  position(offset: number): Position {
    let low = 0;
    let high = this.lineStarts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.lineStarts[middle]! <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: offset - this.lineStarts[low]! + 1 };
  }

  /** Text of a 1-based line, without its line break. */
  line(number: number): string {
    const start = this.lineStarts[number - 1] ?? this.text.length;
    const end = this.lineStarts[number] ?? this.text.length + 1;
    return this.text.slice(start, end - 1).replace(/\r$/, "");
  }
}

/** The smallest span that covers both. */
export function joinSpans(a: Span, b: Span): Span {
  return { start: Math.min(a.start, b.start), end: Math.max(a.end, b.end) };
}
