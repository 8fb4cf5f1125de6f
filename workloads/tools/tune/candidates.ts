/**
 * The candidate settings: the defaults, and others drawn at random from values that make a
 * difference.
 */
import type { Random } from '#engine';
import { counted } from '#harness';
import type { EngineValues } from '../../harness/engine-settings.ts';

export const DEFAULTS: EngineValues = {
  batching: 'off',
  batchDelay: 1,
  batchRows: 256,
  batchInFlight: 8,
  prefetch: 'off',
  scanners: 1,
};

const SPACE = {
  batching: ['off', 'on', 'on', 'on'],
  batchDelay: [0, 1, 2, 5, 10],
  batchRows: [16, 64, 256, 1_024],
  batchInFlight: [1, 2, 4, 8, 32],
  prefetch: ['off', 'learn'],
  scanners: [1, 2, 4],
} as const;

/**
 * Draws `count` different candidates, the defaults first; fewer if there are no more.
 * @param fixed settings that have no effect, and so are not drawn
 */
export function drawCandidates(
  count: number,
  random: Random,
  fixed: Partial<EngineValues> = {},
): readonly EngineValues[] {
  const drawn = new Map([[nameOf(DEFAULTS), DEFAULTS]]);
  for (let attempt = 0; drawn.size < count && attempt < 100 * count; attempt++) {
    const values = { ...drawOne(random), ...fixed };
    if (!drawn.has(nameOf(values))) drawn.set(nameOf(values), values);
  }
  return [...drawn.values()];
}

/** The name of the settings for tables; those without effect are omitted. */
export function nameOf({ batching, prefetch, scanners, ...batch }: EngineValues): string {
  const words = [
    batching === 'off'
      ? 'no batching'
      : `batches of ${batch.batchRows} rows, ${batch.batchDelay} ms, ${batch.batchInFlight} in flight`,
    ...(prefetch === 'off' ? [] : ['prefetch']),
    counted(scanners, 'scanners'),
  ];
  return words.join(', ');
}

function drawOne(random: Random): EngineValues {
  const batching = random.pick(SPACE.batching);
  const batch = {
    batchDelay: random.pick(SPACE.batchDelay),
    batchRows: random.pick(SPACE.batchRows),
    batchInFlight: random.pick(SPACE.batchInFlight),
  };
  return {
    ...DEFAULTS,
    ...(batching === 'off' ? {} : batch),
    batching,
    prefetch: random.pick(SPACE.prefetch),
    scanners: random.pick(SPACE.scanners),
  };
}
