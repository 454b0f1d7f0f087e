/** Plain data as text, between ranks and to their launcher. JSON has neither infinities nor NaN; wrong results do. */

const marker = "$number";

/** Text of plain data. */
export function toWire(value: unknown): string {
  return JSON.stringify(value, (_key, v: unknown) =>
    typeof v === "number" && !Number.isFinite(v) ? { [marker]: String(v) } : v,
  );
}

/** What {@link toWire} was given. */
export function fromWire<T>(text: string): T {
  return JSON.parse(text, (_key, v: unknown) =>
    typeof v === "object" && v !== null && marker in v ? Number(v[marker]) : v,
  ) as T;
}
