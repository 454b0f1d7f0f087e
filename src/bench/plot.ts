/**
 * A result as one SVG: times and bus bandwidth over sizes, and below them, on a linear scale that shows 10 %, how the
 * fastest kernel compares with the fastest peer. Drawn by Vega-Lite, which is loaded when a plot is asked for.
 */
import { bestOf, oursOf, ratioOf } from "./cells.js";
import type { BenchResult } from "./results.js";
import { suites } from "./suites.js";

/** Okabe and Ito's colours, which colour-blind people can tell apart; the darker ones first. */
export const COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"];

/** The chart's text. Sizes where nothing was measured are left out. */
export async function plotOf(result: BenchResult): Promise<string> {
  return svgOf(specificationOf(result));
}

/** The text of an SVG. @param specification a chart in Vega-Lite's terms */
export async function svgOf(specification: object): Promise<string> {
  const [vega, lite] = await Promise.all([import("vega"), import("vega-lite")]);
  const { spec } = lite.compile(specification as Parameters<typeof lite.compile>[0]);
  const view = new vega.View(vega.parse(spec), { renderer: "none" });
  try {
    return (await view.toSVG()) + "\n";
  } finally {
    view.finalize();
  }
}

interface Point {
  readonly label: string;
  readonly size: number;
  readonly who: string;
  readonly isPeer: boolean;
  readonly us: number;
  readonly min: number;
  readonly max: number;
  /** GB/s; null where a size counts multiplications. */
  readonly bandwidth: number | null;
}

/** The chart in Vega-Lite's terms. */
export function specificationOf(result: BenchResult): object {
  const { machine, ranks, dtype } = result;
  const suite = suites[result.suite];
  const rows = [...result.rows].sort((a, b) => a.size - b.size);
  const versions = new Map(result.peers.map(({ name, version }) => [name, `${name} ${version}`]));
  const points = rows.flatMap((row) =>
    [...Object.entries(row.kernels), ...Object.entries(row.peers)].flatMap(([name, cell]): Point[] => {
      if (!("us" in cell)) return [];
      const isPeer = !Object.hasOwn(row.kernels, name);
      const bandwidth = suite.busBytes === null ? null : suite.busBytes(row.size, ranks) / (cell.us.median * 1e3);
      const { median: us, min, max } = cell.us;
      return [{ label: row.label, size: row.size, who: versions.get(name) ?? name, isPeer, us, min, max, bandwidth }];
    }),
  );
  const ratios = rows.flatMap((row) => {
    const ratio = ratioOf(row);
    if (ratio === null) return [];
    const [ours, theirs] = [oursOf(row.kernels)!, bestOf(row.peers)!];
    return [{ label: row.label, ratio, text: ratio.toFixed(2), ours: ours.name, theirs: theirs.name }];
  });
  const order = rows.map((row) => row.label);
  const x = { field: "label", type: "ordinal", sort: order, axis: { labelAngle: -40, title: xTitle(suite.unit) } };
  const who = [...new Set(points.map((p) => p.who))];
  const colour = {
    field: "who",
    type: "nominal",
    title: null,
    scale: { domain: who, range: who.map((_, i) => COLOURS[i % COLOURS.length]) },
    legend: { orient: "right", symbolStrokeWidth: 2, labelLimit: 260 },
  };
  const dash = { condition: { test: "datum.isPeer", value: [5, 3] }, value: [1, 0] };
  const wide = Math.max(960, 22 * rows.length);
  const width = suite.busBytes === null && rows.length > 20 ? wide : 430;
  const curve = (field: string, title: string, scale: object): object => ({
    width,
    height: 300,
    data: { values: points },
    layer: [
      {
        mark: { type: "line", strokeWidth: 2 },
        encoding: { x, y: { field, type: "quantitative", title, scale }, color: colour, strokeDash: dash },
      },
      {
        mark: { type: "point", filled: true, size: 28 },
        encoding: { x, y: { field, type: "quantitative" }, color: colour },
      },
    ],
  });
  const curves = [
    curve("us", "microseconds a call, lower is better", { type: "log" }),
    ...(suite.busBytes === null ? [] : [curve("bandwidth", "bus bandwidth, GB/s, higher is better", { zero: true })]),
  ];
  const ratioPanel = {
    width: suite.busBytes === null ? width : wide,
    height: 150,
    data: { values: ratios },
    layer: [
      {
        mark: { type: "bar", size: 18 },
        encoding: {
          x,
          y: { field: "ratio", type: "quantitative", title: "fastest peer ÷ collc", scale: { zero: true } },
          color: { condition: { test: "datum.ratio >= 1", value: "#009E73" }, value: "#D55E00" },
        },
      },
      {
        mark: { type: "text", dy: -7 },
        encoding: { x, y: { field: "ratio", type: "quantitative" }, text: { field: "text" } },
      },
      { data: { values: [{ one: 1 }] }, mark: { type: "rule", color: "#333" }, encoding: { y: { datum: 1 } } },
    ],
  };
  const where = machine.gpus.length > 0 ? `${ranks} × ${machine.gpus[0]}` : `${ranks} ranks emulated on the CPU`;
  return {
    background: "white",
    padding: 12,
    title: {
      text: `${suite.title}, ${dtype}`,
      subtitle: `${where}, collc ${machine.collc} (${machine.commit ?? "no checkout"}), ${result.date.slice(0, 10)}`,
      anchor: "start",
    },
    config: { font: "sans-serif", axis: { grid: true, gridColor: "#e5e5e5" }, view: { stroke: null } },
    vconcat: [{ hconcat: curves }, ...(ratios.length > 0 ? [ratioPanel] : [])],
  };
}

const xTitle = (unit: "bytes" | "M×N×K"): string => (unit === "bytes" ? "size of the full tensor" : unit);
