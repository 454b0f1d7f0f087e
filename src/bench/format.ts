/** Numbers and sizes as people read them. */

/** 1536 → "1.5 KiB" */
export function bytes(value: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${unit === 0 ? value : significant(value, 3)} ${units[unit]}`;
}

/** Microseconds → "7.42 µs", "12.3 ms", "1.20 s" */
export function duration(microseconds: number): string {
  if (microseconds < 1e3) return `${significant(microseconds, 3)} µs`;
  if (microseconds < 1e6) return `${significant(microseconds / 1e3, 3)} ms`;
  return `${significant(microseconds / 1e6, 3)} s`;
}

/** Three significant digits, or all digits left of the point. */
export function significant(value: number, digits: number): string {
  if (!Number.isFinite(value)) return String(value);
  if (value === 0) return "0";
  const before = Math.floor(Math.log10(Math.abs(value))) + 1;
  if (before >= digits) return value.toFixed(0);
  return before < -3 ? value.toExponential(digits - 1) : value.toFixed(digits - before);
}

/** Where the median lies between the fastest and the slowest sample: "├──●─────┤". */
export function rangeBar(min: number, median: number, max: number, width = 16): string {
  const at = max > min ? Math.round(((median - min) / (max - min)) * (width - 1)) : Math.floor(width / 2);
  return `├${"─".repeat(at)}●${"─".repeat(width - 1 - at)}┤`;
}
