/**
 * A telemetry whose metrics and spans stay in memory, collected by the real SDK of OpenTelemetry.
 */
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import type { Clock } from '../base/index.ts';
import { createTelemetry, type Telemetry } from '../telemetry/index.ts';

class PullReader extends MetricReader {
  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}
}

/** One number of a metric; of a histogram, how much was recorded. */
export interface Point {
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly value: number;
  /** Of a histogram. */
  readonly sum: number | undefined;
}

export interface Collected {
  readonly telemetry: Telemetry;
  /** The points of the metric now; none if it has no data. */
  readonly points: (metric: string) => Promise<readonly Point[]>;
  /** The value of the point with exactly these attributes, in `name=value` form. */
  readonly value: (metric: string, ...attributes: readonly string[]) => Promise<number | undefined>;
  /** The spans that have ended, in that order. */
  readonly spans: readonly ReadableSpan[];
}

export function collectTelemetry({ clock }: { readonly clock?: Clock } = {}): Collected {
  const reader = new PullReader();
  const meters = new MeterProvider({ readers: [reader] });
  const exporter = new InMemorySpanExporter();
  const tracers = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const meter = meters.getMeter('percolator');
  const telemetry = createTelemetry({ meter, tracer: tracers.getTracer('percolator'), clock });
  const points = async (metric: string): Promise<readonly Point[]> => {
    const { resourceMetrics } = await reader.collect();
    const all = resourceMetrics.scopeMetrics.flatMap(({ metrics }) => metrics);
    const found = all.find(({ descriptor }) => descriptor.name === metric);
    return (found?.dataPoints ?? []).map(({ attributes, value }) => ({
      attributes,
      value: typeof value === 'number' ? value : 'count' in value ? value.count : Number.NaN,
      sum: typeof value === 'number' ? undefined : value.sum,
    }));
  };
  return {
    telemetry,
    points,
    value: async (metric, ...attributes) => {
      const wanted = attributes.toSorted().join();
      return (await points(metric)).find((point) => textOf(point) === wanted)?.value;
    },
    get spans() {
      return exporter.getFinishedSpans();
    },
  };
}

function textOf({ attributes }: Point): string {
  return Object.entries(attributes)
    .map(([name, value]) => `${name}=${String(value)}`)
    .toSorted()
    .join();
}
