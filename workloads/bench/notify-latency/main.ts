/**
 * `./run.sh bench:notify-latency`: the delay until another process reacts to a write, and the cost
 * of an idle worker.
 */
import {
  counted,
  noFsyncOption,
  number,
  numberList,
  onlyWith,
  regionServersOption,
  runExperiment,
  secondsOption,
  storeOption,
} from '#harness';
import { checkStoreName, describeStore, provideStore } from '../../harness/stores.ts';
import { ENGINE_OPTIONS, engineValuesOf } from '../../harness/engine-settings.ts';
import { findingsOf, measureNotifications } from './measure.ts';

/** At 2 writes a second, a minute is what a 99th percentile needs. */
const SIZES = {
  smoke: { rates: [50, 100], seconds: 0.5, idleSeconds: 0.5 },
  quick: { rates: [2, 20, 200], seconds: 60, idleSeconds: 15 },
  standard: { rates: [2, 20, 200], seconds: 500, idleSeconds: 60 },
  full: { rates: [1, 2, 5, 10, 20, 50, 100, 200, 500], seconds: 600, idleSeconds: 300 },
};
/** Time to start the processes, to warm up, and to settle. */
const START_SECONDS = 12;

await runExperiment(
  {
    script: 'bench:notify-latency',
    subject: {
      kicker: 'Percolator paper, section 2.4',
      title: 'From a write to the run of its observer',
    },
    description:
      'Measures the time from a write to the run of its observer, in an open loop with oracle, writer and worker ' +
      'in separate processes, and the cost of the worker while there are no writes.',
    isOnOneHost:
      'takes the beginning and the end of a latency in two processes, by the clock of this machine that they share',
    sizes: SIZES,
    options: {
      store: storeOption(),
      regionServers: onlyWith({ store: ['hbase'] }, regionServersOption()),
      rates: numberList({
        description: 'rates of writes, measured one after the other',
        unit: 'writes per second',
        min: 0.1,
        max: 10_000,
      }),
      seconds: secondsOption('each rate'),
      idleSeconds: number({
        description: 'measured time of the idle worker',
        unit: 'seconds',
        min: 0.5,
        max: 3_600,
      }),
      noFsync: onlyWith({ store: ['embedded'] }, noFsyncOption),
      ...ENGINE_OPTIONS,
    },
    examples: [
      {
        command: './run.sh bench:notify-latency --store emulator',
        does: 'the same on the official emulator',
      },
    ],
    plan: ({ rates, seconds, idleSeconds, store, noFsync }) => ({
      about: `${counted(rates.length, 'rates')} of writes on ${store}, ${seconds} s each, and an idle worker`,
      seconds: rates.length * seconds + idleSeconds + START_SECONDS,
      store: describeStore(store, { fsync: !noFsync }),
      limitations: [
        'Oracle, lock service, writer and worker are separate processes; they and a storage that this run starts share the cores of one machine.',
        'Writes are due at equal intervals by the clock; there is no random choice and no seed.',
      ],
    }),
  },
  async (options, { progress, signal, work }) => {
    const { store: name, regionServers, noFsync, rates, seconds, idleSeconds } = options;
    const engine = engineValuesOf(options);
    const embedded = { folder: work, fsync: !noFsync };
    await using store = await provideStore(checkStoreName(name), embedded, { regionServers });
    progress.phase('measuring', rates.length, 'rates');
    let done = 0;
    const plan = { store: store.address, rates, seconds, idleSeconds, engine };
    const measured = await measureNotifications(plan, signal, () => progress.update(++done));
    return findingsOf(measured, name);
  },
);
