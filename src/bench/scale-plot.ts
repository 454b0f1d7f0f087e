/** Simulated times as one SVG: a panel for each number of ranks, time over size, a line for each program. */
import { COLOURS, svgOf } from "./plot.js";

export interface ScalePoint {
  readonly name: string;
  readonly ranks: number;
  readonly bytes: number;
  readonly seconds: number;
}

const axes = { x: "size, bytes of a rank's largest tensor", y: "time, µs" } as const;

/** @param over what the x axis is: the size, with a panel for each number of ranks, or the ranks, with one for each size */
export async function scalePlot(
  points: readonly ScalePoint[],
  title: string,
  over: "bytes" | "ranks" = "bytes",
): Promise<string> {
  const names = [...new Set(points.map((p) => p.name))];
  const isBySize = over === "bytes";
  const values = points.map(({ name, ranks, bytes, seconds }) => ({
    name,
    x: isBySize ? bytes : ranks,
    us: seconds * 1e6,
    panel: isBySize ? `${ranks} ranks` : sizeText(bytes),
  }));
  const panels = [...new Set(values.map((v) => v.panel))];
  const size = { expr: "datum.value >= 1073741824 ? datum.value / 1073741824 + ' GiB' : datum.value >= 1048576 ? datum.value / 1048576 + ' MiB' : datum.value >= 1024 ? datum.value / 1024 + ' KiB' : datum.value + ' B'" }; // prettier-ignore
  const x = {
    field: "x",
    type: "quantitative",
    title: isBySize ? axes.x : "ranks",
    scale: { type: "log", base: 2, nice: false },
    axis: {
      values: [...new Set(values.map((v) => v.x))],
      labelAngle: isBySize ? -40 : 0,
      ...(isBySize ? { labelExpr: size.expr } : { format: "d" }),
    },
  };
  const specification = {
    background: "white",
    title: { text: title, anchor: "start" },
    config: { font: "sans-serif", view: { stroke: "#ddd" } },
    columns: 2,
    concat: panels.map((panel) => ({
      title: panel,
      width: 400,
      height: 240,
      data: { values: values.filter((v) => v.panel === panel) },
      mark: { type: "line", point: { size: 22 }, strokeWidth: 1.8 },
      encoding: {
        x,
        y: { field: "us", type: "quantitative", title: axes.y, scale: { type: "log" } },
        color: {
          field: "name",
          type: "nominal",
          title: null,
          scale: { domain: names, range: names.map((_, i) => COLOURS[i % COLOURS.length]!) },
          legend: { orient: "right", labelLimit: 260 },
        },
      },
    })),
  };
  return svgOf(specification);
}

function sizeText(bytes: number): string {
  const [unit, name] = bytes >= 2 ** 30 ? [2 ** 30, "GiB"] : bytes >= 2 ** 20 ? [2 ** 20, "MiB"] : [2 ** 10, "KiB"];
  return `${bytes / unit} ${name}`;
}
