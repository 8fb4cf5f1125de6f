/**
 * A chart as data: what is drawn, in which words, without colours and pixels.
 *
 * Every page and picture is made from such descriptions. Node makes them from a run's files;
 * draw-chart.ts draws them, for a PNG in Node and for the reader in the page, which carries them as
 * JSON. A value that must not be drawn (the latency of a saturated system, say) is not in here.
 */
export interface Chart {
  /** The id of its canvas, and the name of its files: `<name>.png`. */
  readonly name: string;
  readonly title: string;
  readonly caption: string;
  readonly x: ChartAxis;
  readonly y: ChartAxis;
  readonly series: readonly ChartSeries[];
  /** Spans of the horizontal axis with a name, and moments, whose `from` is `to`. */
  readonly spans?: readonly ChartSpan[];
  /** The space between two series, and how far apart they are. */
  readonly gap?: ChartGap;
}

export interface ChartGap {
  readonly upper: string;
  readonly lower: string;
  readonly edges: readonly GapEdge[];
  /** The first edge with enough samples, and what is written there: "380 times". */
  readonly labelled: (GapEdge & { readonly words: string }) | undefined;
}

export interface GapEdge {
  readonly x: number;
  readonly low: number;
  readonly high: number;
}

export interface ChartSpan {
  readonly from: number;
  /** Null: to the end of the axis. */
  readonly to: number | null;
  readonly label: string;
}

export interface ChartAxis {
  readonly title: string;
  readonly scale: 'linear' | 'logarithmic';
  /** The values that may be labelled, ascending; empty for round numbers. */
  readonly ticks: readonly { readonly at: number; readonly label: string }[];
  /** Whether all values are whole numbers: then the labels are, too. */
  readonly isWhole?: boolean;
  /** Whether the labels are words, one for each place of the axis: "reads", "writes". */
  readonly hasWords?: boolean;
  /** Where it ends although there are higher values, which are named at the edge. */
  readonly max?: number;
}

export interface ChartSeries {
  readonly name: string;
  /** An index into the theme's colours. Grey is kept for the numbers of the paper. */
  readonly color: number | 'paper';
  readonly marker: Marker;
  readonly isHollow?: boolean;
  readonly line: 'none' | 'solid' | 'dashed' | 'dotted';
  /** Which marks are drawn: 1, the default, draws every mark, 10 every tenth, and 0 none. */
  readonly markEvery?: number;
  /** Saturated: the marks are arrows at the upper edge, whatever their height. */
  readonly isOnEdge?: boolean;
  /** It is drawn only if the reader asks for it. */
  readonly isOff?: boolean;
  /** Bars of this width, in units of the horizontal axis, take the place of marks. */
  readonly barWidth?: number;
  readonly marks: readonly ChartMark[];
  /** A fitted line with its confidence band. */
  readonly band?: readonly { readonly x: number; readonly y: number; low: number; high: number }[];
}

export type Marker = 'circle' | 'rect' | 'triangle' | 'rectRot' | 'star' | 'crossRot';

export interface ChartMark {
  readonly x: number;
  /** Null interrupts the line. */
  readonly y: number | null;
  /** The ends of the mark's interval. */
  readonly low?: number | null;
  readonly high?: number | null;
  /** The lines shown when the reader points at the mark. */
  readonly words: readonly string[];
  /** Lines of text next to the mark. */
  readonly label?: readonly string[];
}
