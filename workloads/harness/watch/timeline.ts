/**
 * The run second by second, as it is shown while it goes on and kept in its record. A long run has
 * fewer points: when a line has `POINTS_MAX` of them, each two become one, in all lines.
 */
import type { Timeline, TimelineEvent, TimelinePoint } from '#results';

/** The charts of every script, so that one word means one thing in all of them. */
export const PANELS = {
  throughput: { title: 'Throughput', unit: 'per second', joins: 'mean' },
  latency: {
    title: 'Latency of what ended in the last second',
    unit: 'milliseconds',
    joins: 'most',
  },
  waiting: { title: 'Waiting, or in flight', unit: 'number', joins: 'most' },
  age: { title: 'Age of what can be found', unit: 'seconds', joins: 'most' },
  conflicts: { title: 'Conflicts and repairs', unit: 'per second', joins: 'mean' },
  observers: { title: 'Runs of observers', unit: 'per second', joins: 'mean' },
  cores: { title: 'Processes and their cores', unit: 'cores in use', joins: 'mean' },
} as const;
export type PanelName = keyof typeof PANELS;

/** A value of one second. */
export interface Sample {
  readonly panel: PanelName;
  readonly series: string;
  readonly value: number;
  /** A level to reach, or to stay below. */
  readonly isTarget?: boolean | undefined;
}

const POINTS_MAX = 600;
/** A line without values for so long is interrupted: a process may be late for a moment. */
const GAP_SECONDS = 2;

export interface LineOfSamples extends Pick<Sample, 'panel' | 'series'> {
  readonly isTarget: boolean;
  points: TimelinePoint[];
}

export class GrowingTimeline {
  readonly #lines = new Map<string, LineOfSamples>();
  readonly #events: { from: number; to: number | null; label: string }[] = [];
  /** Counts what is more than a further second: a new line, an event, fewer points. */
  version = 0;

  /** Returns the points that were added. */
  add(seconds: number, samples: readonly Sample[]): readonly (LineOfSamples & TimelinePoint)[] {
    const given = new Map(samples.map((sample) => [keyOf(sample), sample]));
    for (const [key, sample] of given) {
      // A line begins with something to see: of most processes, most counts stay zero.
      if (!this.#lines.has(key) && sample.value !== 0) this.#begin(key, sample);
    }
    const added = [...this.#lines].flatMap(([key, line]) => {
      const value = given.get(key)?.value ?? null;
      if (value === null && !isOverdue(line, seconds)) return [];
      line.points.push({ seconds, value });
      return [{ ...line, seconds, value }];
    });
    const longest = Math.max(0, ...[...this.#lines.values()].map(({ points }) => points.length));
    if (longest >= POINTS_MAX) this.#thin();
    return added;
  }

  /** Something that happened at a moment. */
  event(seconds: number, label: string): void {
    this.#events.push({ from: seconds, to: seconds, label });
    this.version++;
  }

  /** Begins a phase, and ends the one before it. Without a label it only ends that one. */
  phase(seconds: number, label?: string): void {
    const last = this.#events.findLast(({ to }) => to === null);
    if (last?.from === seconds) this.#events.splice(this.#events.indexOf(last), 1);
    else if (last !== undefined) last.to = seconds;
    if (label !== undefined) this.#events.push({ from: seconds, to: null, label });
    this.version++;
  }

  get timeline(): Timeline {
    const lines = [...this.#lines.values()];
    const names = Object.keys(PANELS) as readonly PanelName[];
    return {
      panels: names.flatMap((name) => {
        const { title, unit } = PANELS[name];
        const series = lines
          .filter(({ panel }) => panel === name)
          .map(({ series: of, isTarget, points }) => ({ name: of, isTarget, points: [...points] }));
        return series.length === 0 ? [] : [{ name: chartOf(name), title, unit, series }];
      }),
      events: this.#events.map((event): TimelineEvent => ({ ...event })),
    };
  }

  #begin(key: string, { panel, series, isTarget = false }: Sample): void {
    this.#lines.set(key, { panel, series, isTarget, points: [] });
    this.version++;
  }

  #thin(): void {
    for (const line of this.#lines.values()) line.points = thinned(line);
    this.version++;
  }
}

function isOverdue({ points }: LineOfSamples, seconds: number): boolean {
  const last = points.at(-1);
  return last !== undefined && last.value !== null && seconds - last.seconds >= GAP_SECONDS;
}

/** The name of a panel's chart. */
export function chartOf(panel: PanelName): string {
  return `live-${panel}`;
}

function keyOf({ panel, series }: Sample): string {
  return `${panel} ${series}`;
}

function thinned({ panel, points }: LineOfSamples): TimelinePoint[] {
  const joined: TimelinePoint[] = [];
  for (let i = 0; i < points.length; i += 2) {
    const pair = points.slice(i, i + 2);
    const values = pair.flatMap(({ value }) => value ?? []);
    const total = values.reduce((sum, value) => sum + value, 0);
    const value = PANELS[panel].joins === 'mean' ? total / values.length : Math.max(...values);
    const { seconds } = pair.at(-1) ?? { seconds: 0 };
    joined.push({ seconds, value: values.length === 0 ? null : value });
  }
  return joined;
}
