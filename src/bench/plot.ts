/** A line chart of times over sizes as one SVG text: both axes logarithmic, one line a kernel or peer. */

export interface Line {
  readonly name: string;
  /** Drawn dashed: something to compare with. */
  readonly isPeer: boolean;
  readonly points: readonly (readonly [size: number, us: number])[];
}

export interface Plot {
  readonly title: string;
  /** Below the title: machine, dtype. */
  readonly subtitle: string;
  readonly xTitle: string;
  readonly yTitle: string;
  /** Text of a size on the horizontal axis. */
  readonly xLabel: (size: number) => string;
  readonly lines: readonly Line[];
}

const width = 860;
const height = 520;
const frame = { left: 80, right: 210, top: 70, bottom: 70 };
/** Okabe and Ito's colours, which colour-blind people can tell apart. */
const colours = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"];

/** The chart. Lines without points are left out. */
export function svgPlot(plot: Plot): string {
  const lines = plot.lines.filter((line) => line.points.length > 0);
  const sizes = [...new Set(lines.flatMap((line) => line.points.map(([size]) => size)))].sort((a, b) => a - b);
  const times = lines.flatMap((line) => line.points.map(([, us]) => us));
  const x = logScale(sizes[0] ?? 1, sizes.at(-1) ?? 10, frame.left, width - frame.right);
  const ticks = decades(Math.min(...times, 1e9), Math.max(...times, 1e-9));
  const y = logScale(ticks[0]!, ticks.at(-1)!, height - frame.bottom, frame.top);
  const body = [
    text(frame.left, 30, plot.title, { size: 18, weight: 600 }),
    text(frame.left, 50, plot.subtitle, { fill: "#555" }),
    ...grid(ticks, y),
    ...xAxis(sizes, x, plot.xLabel),
    text((frame.left + width - frame.right) / 2, height - 16, plot.xTitle, { anchor: "middle" }),
    `<g transform="rotate(-90 22 ${(frame.top + height - frame.bottom) / 2})">${text(22, (frame.top + height - frame.bottom) / 2, plot.yTitle, { anchor: "middle" })}</g>`,
    ...lines.flatMap((line, i) => drawLine(line, colours[i % colours.length]!, x, y)),
    ...legend(lines),
  ];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="system-ui, sans-serif" font-size="13">
<rect width="${width}" height="${height}" fill="#fff"/>
${body.join("\n")}
</svg>
`;
}

type Scale = (value: number) => number;

function logScale(low: number, high: number, from: number, to: number): Scale {
  const span = Math.log(high / low);
  return (value) => (span === 0 ? (from + to) / 2 : from + (Math.log(value / low) / span) * (to - from));
}

/** 1, 2, 5 times powers of ten that enclose a range. */
function decades(low: number, high: number): number[] {
  const steps: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++)
    steps.push(...[1, 2, 5].map((n) => n * 10 ** power));
  const first = Math.max(
    0,
    steps.findLastIndex((step) => step <= low),
  );
  const last = steps.findIndex((step) => step >= high);
  return steps.slice(first, (last < 0 ? steps.length - 1 : last) + 1);
}

function grid(ticks: readonly number[], y: Scale): string[] {
  return ticks.flatMap((tick) => [
    `<line x1="${frame.left}" x2="${width - frame.right}" y1="${round(y(tick))}" y2="${round(y(tick))}" stroke="#ddd"/>`,
    text(frame.left - 8, round(y(tick)) + 4, String(Number(tick.toPrecision(3))), { anchor: "end" }),
  ]);
}

function xAxis(sizes: readonly number[], x: Scale, label: (size: number) => string): string[] {
  let last = -Infinity;
  return sizes.flatMap((size) => {
    const at = round(x(size));
    const tick = `<line x1="${at}" x2="${at}" y1="${height - frame.bottom}" y2="${height - frame.bottom + 5}" stroke="#555"/>`;
    if (at - last < 52) return [tick]; // no room for its text
    last = at;
    return [tick, text(at, height - frame.bottom + 20, label(size), { anchor: "middle" })];
  });
}

function drawLine(line: Line, colour: string, x: Scale, y: Scale): string[] {
  const points = line.points.map(([size, us]) => [round(x(size)), round(y(us))] as const);
  const dash = line.isPeer ? ' stroke-dasharray="6 4"' : "";
  return [
    `<polyline fill="none" stroke="${colour}" stroke-width="2"${dash} points="${points.map((p) => p.join(",")).join(" ")}"/>`,
    ...points.map(
      ([px, py], i) =>
        `<circle cx="${px}" cy="${py}" r="3" fill="${colour}"><title>${escape(line.name)}: ${line.points[i]![1]} µs</title></circle>`,
    ),
  ];
}

function legend(lines: readonly Line[]): string[] {
  const left = width - frame.right + 18;
  return lines.flatMap((line, i) => {
    const at = frame.top + 10 + i * 22;
    const dash = line.isPeer ? ' stroke-dasharray="6 4"' : "";
    return [
      `<line x1="${left}" x2="${left + 24}" y1="${at}" y2="${at}" stroke="${colours[i % colours.length]}" stroke-width="2"${dash}/>`,
      text(left + 32, at + 4, line.name),
    ];
  });
}

interface TextStyle {
  readonly anchor?: "middle" | "end";
  readonly size?: number;
  readonly weight?: number;
  readonly fill?: string;
}

function text(x: number, y: number, content: string, { anchor, size, weight, fill }: TextStyle = {}): string {
  const attributes = [
    anchor && `text-anchor="${anchor}"`,
    size && `font-size="${size}"`,
    weight && `font-weight="${weight}"`,
    fill && `fill="${fill}"`,
  ];
  return `<text x="${x}" y="${y}" ${attributes.filter(Boolean).join(" ")}>${escape(content)}</text>`;
}

const round = (value: number): number => Math.round(value * 10) / 10;
const escape = (content: string): string => content.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
