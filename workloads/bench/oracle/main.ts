/**
 * `./run.sh bench:oracle`: the timestamps per second of one oracle, each for one caller, which
 * awaits it. The paper's oracle: "around 2 million timestamps per second from a single
 * machine" (section 2.3).
 *
 * 1. One oracle process, as in production: it serves timestamps from memory under a lease, and its
 *    ranges are durable.
 * 2. For each number of client processes: connect, warm up, and let all callers ask, await and ask
 *    again. A client has one request in flight at a time; its callers' later requests wait for the
 *    next one (section 2.3).
 * 3. The same with few callers: the latency of a timestamp when few callers share a request.
 *
 * Every caller checks that its timestamps increase, and all together must not have received more
 * than the oracle advanced by. Latency is that of every 64th caller, from request to answer.
 */
import {
  counted,
  integer,
  integerList,
  measureChecked,
  type Measuring,
  runExperiment,
  secondsOption,
  warmUpOption,
} from '#harness';
import { type FindingsParts, UsageError } from '#results';
import { Crew, startOracle } from '../../harness/processes/index.ts';
import { findingsOf, measurePoint, type OracleLoad, type OraclePoint } from './measure.ts';

const FEW_CALLERS = 100;
/** Time to start the processes of a point, and to connect. */
const START_SECONDS = 1;

const SIZES = {
  smoke: { clients: [1, 2], callers: 1_000, seconds: 0.5, warmUp: 0.2 },
  quick: { clients: [1, 2, 3, 4], callers: 60_000, seconds: 5, warmUp: 2 },
  standard: { clients: [1, 2, 3, 4], callers: 60_000, seconds: 240, warmUp: 10 },
  full: { clients: [1, 2, 3, 4, 5, 6, 7, 8], callers: 60_000, seconds: 600, warmUp: 10 },
};

await runExperiment(
  {
    script: 'bench:oracle',
    subject: { kicker: 'Percolator paper, section 2.3', title: 'Timestamps per second' },
    description:
      'Measures how many timestamps per second an oracle process serves to callers in client processes, ' +
      'and how long each caller waits.',
    isOnOneHost: 'measures an oracle whose store is a folder of this machine',
    sizes: SIZES,
    options: {
      clients: integerList({
        description: 'numbers of client processes, one point each',
        min: 1,
        max: 64,
      }),
      callers: integer({
        description: 'callers of all clients together, each with one request at a time',
        min: 1,
        max: 10_000_000,
      }),
      seconds: secondsOption('each point'),
      warmUp: warmUpOption('each point'),
    },
    examples: [
      {
        command: './run.sh bench:oracle --clients 2 --seconds 30',
        does: 'two clients, longer',
      },
    ],
    plan: ({ clients, callers, seconds, warmUp }) => {
      if (callers < Math.max(...clients)) {
        throw new UsageError(
          `--callers must be at least the largest of --clients, because each client needs a caller, but is ${callers}.`,
        );
      }
      return {
        about: `${clients.length + 1} points of ${seconds} s each, with up to ${counted(callers, 'callers')}`,
        seconds: (clients.length + 1) * (seconds + warmUp + START_SECONDS),
        store: {
          name: 'embedded',
          durability:
            'a range of timestamps is on disk (fsync) before the oracle serves one of them',
        },
        limitations: [
          'Server and clients share the cores of one machine, and the network between them is the loopback interface.',
          'Each point is measured once; there is no random choice and no seed.',
        ],
      };
    },
  },
  async (size, measuring) => {
    const loads = loadsOf(size);
    return foundIn(await measureAll(loads, measuring), loads);
  },
);

/** The loads of all points; the one with few callers is the last. */
function loadsOf({
  clients,
  callers,
  seconds,
  warmUp,
}: (typeof SIZES)['full']): readonly OracleLoad[] {
  const timing = { seconds, warmUpSeconds: warmUp };
  return [
    ...clients.map((count) => ({ clients: count, callers, ...timing })),
    { clients: 1, callers: FEW_CALLERS, ...timing },
  ];
}

/** An interrupted run may lack the point with few callers, the last one. */
function foundIn(points: readonly OraclePoint[], loads: readonly OracleLoad[]): FindingsParts {
  const last = loads.length - 1;
  return findingsOf(points.slice(0, last), points[last]);
}

async function measureAll(
  loads: readonly OracleLoad[],
  { work, keep, progress, signal }: Measuring,
): Promise<readonly OraclePoint[]> {
  await using crew = new Crew(signal);
  const address = await startOracle(crew, { kind: 'embedded', folder: work });
  progress.phase('measuring', loads.length, 'points');
  const points: OraclePoint[] = [];
  for (const load of loads) {
    const measure = () => measurePoint(crew, address, load);
    points.push(await measureChecked({ keep, signal }, measure));
    progress.update(points.length);
    keep(foundIn(points, loads));
  }
  await crew.stop();
  return points;
}
