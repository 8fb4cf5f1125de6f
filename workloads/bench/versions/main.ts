/**
 * `./run.sh bench:versions`: does a cell that is rewritten many times become slow to read?
 *
 * Every version of a cell stays until garbage collection. The benchmark reads two cells, one
 * written once and one rewritten many times. Their reads alternate, so that both meet the same
 * disturbances:
 *
 * 1. without a collector: all versions are there;
 * 2. with a collector, which runs while the cell is rewritten the same number of times again, and
 *    during the reads of both.
 *
 * Every value read is checked; if one is wrong there are no numbers. The result is accepted if,
 * with the collector, the median read of the rewritten cell takes at most twice as long.
 */
import { openPercolator } from '#engine';
import { counted, integer, runExperiment, seedOption } from '#harness';
import { DATABASE_OPTIONS, settingsOf } from '../../harness/engine-settings.ts';
import { describeStore } from '../../harness/stores.ts';
import { findingsOf, measureVersions } from './measure.ts';

const SIZES = {
  smoke: { versions: 300, reads: 200, messageLifetime: 20 },
  quick: { versions: 10_000, reads: 20_000, messageLifetime: 1_000 },
  standard: { versions: 1_000_000, reads: 500_000, messageLifetime: 1_000 },
  full: { versions: 10_000_000, reads: 5_000_000, messageLifetime: 1_000 },
};
/** Guesses for the plan. */
const WRITES_PER_SECOND = 1_500;
const READS_PER_SECOND = 8_000;

await runExperiment(
  {
    script: 'bench:versions',
    subject: {
      kicker: 'Percolator paper, section 2',
      title: 'Reading a cell that was rewritten many times',
    },
    description:
      'Measures how much longer it takes to read a cell that was rewritten many times than one that was ' +
      'written once: without garbage collection, and with it.',
    sizes: SIZES,
    options: {
      versions: integer({
        description: 'number of writes of the rewritten cell',
        min: 1,
        max: 10_000_000,
      }),
      reads: integer({ description: 'measured reads of each cell', min: 10, max: 10_000_000 }),
      valueBytes: integer({
        description: 'size of a value',
        default: 100,
        min: 1,
        max: 1_048_576,
        unit: 'bytes',
      }),
      messageLifetime: integer({
        description:
          'how long the collector waits for requests in flight before it deletes; in one process none is in flight for long',
        min: 1,
        max: 3_600_000,
        unit: 'ms',
      }),
      ...DATABASE_OPTIONS,
      seed: seedOption('the values and the order of reads'),
    },
    examples: [
      {
        command: './run.sh bench:versions --versions 100000',
        does: 'ten times as many versions as the quick profile',
      },
    ],
    plan: ({ versions, reads, messageLifetime }) => ({
      about: `${counted(versions, 'versions')} of a cell, ${counted(reads, 'reads')} of it and of another one, twice`,
      seconds:
        (2 * versions) / WRITES_PER_SECOND +
        (4 * reads) / READS_PER_SECOND +
        (3 * messageLifetime) / 1_000,
      store: describeStore('embedded', { fsync: false }),
      limitations: [
        'One reader, one cell of each kind, all in memory: the results show the time of a read alone.',
      ],
    }),
  },
  async (settings, measuring) => {
    // Durability does not matter here, and waiting for the disk is not measured.
    const options = { folder: measuring.work, fsync: false, ...settingsOf(settings) };
    await using percolator = await openPercolator(options);
    return findingsOf(await measureVersions(percolator, settings, measuring), settings);
  },
);
