/**
 * Source text and places in it. Every node, op and diagnostic points here.
 *
 * A program may import other files. Their texts follow each other behind the main one, so that an offset alone says
 * which file it is in, and nothing that carries spans has to know of files.
 */

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

/** One text with fast offset → line/column look-up. */
class SourceText {
  private readonly lineStarts: number[] = [0];

  constructor(
    readonly name: string,
    readonly text: string,
    /** Offset of its first character. */
    readonly base: number,
  ) {
    for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) === 10) this.lineStarts.push(i + 1);
  }

  get lineCount(): number {
    return this.lineStarts.length;
  }

  position(offset: number): Position {
    const at = offset - this.base;
    let low = 0;
    let high = this.lineStarts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.lineStarts[middle]! <= at) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: at - this.lineStarts[low]! + 1 };
  }

  line(number: number): string {
    const start = this.lineStarts[number - 1] ?? this.text.length;
    const end = this.lineStarts[number] ?? this.text.length + 1;
    return this.text.slice(start, end - 1).replace(/\r$/, "");
  }
}

export interface FileText {
  readonly name: string;
  readonly text: string;
}

/** Where the text has what a node of a graph says. */
export interface NodePlace extends Span {
  readonly id: string;
}

/** A source file, with the files that it imports behind it. */
export class SourceFile {
  private readonly texts: SourceText[];

  /** @param nodes places of the nodes, where the text is the print of a graph */
  constructor(
    readonly name: string,
    readonly text: string,
    readonly nodes: readonly NodePlace[] = [],
  ) {
    this.texts = [new SourceText(name, text, 0)];
  }

  /** The file, then those it imports, as plain data: `SourceFile.of` makes the same of them. */
  get files(): readonly [FileText, ...FileText[]] {
    const [own, ...imported] = this.texts.map(({ name, text }): FileText => ({ name, text }));
    return [own!, ...imported];
  }

  static of(
    [{ name, text }, ...imported]: readonly [FileText, ...FileText[]],
    nodes?: readonly NodePlace[],
  ): SourceFile {
    const source = new SourceFile(name, text, nodes);
    for (const file of imported) source.include(file.name, file.text);
    return source;
  }

  get lineCount(): number {
    return this.texts[0]!.lineCount;
  }

  /** Adds an imported file, once. @returns what to add to offsets in it. */
  include(name: string, text: string): number {
    const known = this.texts.find((t, i) => i > 0 && t.name === name);
    if (known !== undefined) return known.base;
    const last = this.texts.at(-1)!;
    const base = last.base + last.text.length + 2; // apart, so that the end of one is not the start of the next
    this.texts.push(new SourceText(name, text, base));
    return base;
  }

  /** The graph's node that a place belongs to; null of a text that somebody wrote, and of what belongs to no node. */
  nodeAt({ start, end }: Span): string | null {
    return this.nodes.find((n) => n.start <= start && end <= n.end && end > 0)?.id ?? null;
  }

  /** Line and column in the file that the offset lies in. */
  position(offset: number): Position {
    return this.at(offset).position(offset);
  }

  /** Name of the file that the offset lies in. */
  fileOf(offset: number): string {
    return this.at(offset).name;
  }

  /** Text of a 1-based line, without its line break; of an imported file, if an offset in it is given. */
  line(number: number, offset = 0): string {
    return this.at(offset).line(number);
  }

  private at(offset: number): SourceText {
    for (let i = this.texts.length - 1; i > 0; i--) if (this.texts[i]!.base <= offset) return this.texts[i]!;
    return this.texts[0]!;
  }
}

/** The smallest span that covers both. */
export function joinSpans(a: Span, b: Span): Span {
  return { start: Math.min(a.start, b.start), end: Math.max(a.end, b.end) };
}
