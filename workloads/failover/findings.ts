/** The findings of `./run.sh bench:failover` for the report. */
import { sum } from 'simple-statistics';
import {
  column,
  counted,
  type FindingsParts,
  formatJudged,
  line,
  lower,
  mergeHistograms,
  noNumbers,
  percentileMs,
  type ResultChart,
  type ResultTable,
  resultTable,
  rowName,
  series,
  SHARED,
  spansBetween,
  statedPercentileMs,
  type Target,
} from '#results';
import { whyNotKeptUp } from '../harness/load/kept-up.ts';
import { rounded } from '../harness/statistics.ts';
import { type Arrival, COMMITTED, type TransactionAttempt, UNKNOWN } from './attempts.ts';
import { COUNTERS, type FailoverResult } from './experiment.ts';
import {
  COUNTED_MAX,
  type RateRecovery,
  recoveryOf,
  type Second,
  secondsOf,
  SHARE,
  WINDOW_SECONDS,
} from './seconds.ts';
import { describeVictims } from './victims.ts';
import type { WorkloadName } from './workload.ts';

interface Words {
  /** What arrives at a steady rate. */
  readonly many: string;
  /** When it counts as completed. */
  readonly completed: string;
  /** The transactions whose attempts are counted. */
  readonly transactions: string;
}

const WORDS: Readonly<Record<WorkloadName, Words>> = {
  brokerage: {
    many: 'transactions',
    completed: 'until they had ended',
    transactions: 'transactions of customers and of the exchange',
  },
  'crawl-rate': {
    many: 'documents',
    completed: 'until they were clustered',
    transactions: 'transactions that write a document',
  },
};

/** From the detection of dead region servers, for all else from the kill. */
const { recoverySecondsMax: TARGET_RECOVERY_SECONDS } = SHARED;

export function findingsOf(result: FailoverResult): FindingsParts {
  const { fromMs, arrivals, check } = result;
  const wrong = [...(check?.wrong ?? []), ...whatDidNotHappen(result)];
  if (check === undefined || wrong.length > 0) return withoutNumbers(result, wrong);
  const seconds = secondsOf(arrivals, { fromMs, seconds: measuredSeconds(result) });
  const recovery = recoveryFrom(result, seconds);
  return {
    headline: headlineOf(result, recovery),
    check: { passed: true, detail: check.right },
    tables: [
      marksTable(result, recovery, seconds),
      transactionsTable(result),
      secondsTable(result, seconds),
    ],
    charts: [rateChart(result, seconds), latencyChart(result, seconds)],
    targets: targetsOf(result, recovery, whyNotSteady(result, seconds)),
  };
}

/** A run that failed its check has no numbers, only the reason, and whether anything was lost. */
function withoutNumbers({ check }: FailoverResult, wrong: readonly string[]): FindingsParts {
  return { ...noNumbers(wrong.join('; ')), targets: [lossTarget(check)] };
}

function isOfServers({ plan }: FailoverResult): boolean {
  return plan.kill === 'region-servers';
}

/**
 * When the recovery begins to count: for region servers when the master finds them dead, for all
 * else at the kill. Undefined if the master did not: then there is no recovery to measure.
 */
function countedFrom(result: FailoverResult): number | undefined {
  return isOfServers(result) ? result.marks.detected : result.marks.killed;
}

/** The same moment in words. */
function countedFromWords(result: FailoverResult): string {
  return isOfServers(result) ? 'the detection' : 'the failure';
}

function recoveryFrom(
  result: FailoverResult,
  seconds: readonly Second[],
): RateRecovery | undefined {
  const { marks, perSecond } = result;
  const { killed: killedAt } = marks;
  const from = countedFrom(result);
  if (from === undefined) return undefined;
  return recoveryOf(seconds, { perSecond, killedAt, countedFrom: from });
}

/**
 * Seconds from the heal of a cut until the rate is back for good: hosts that come back have work to
 * undo. Null if it is not; undefined without a cut.
 */
function againAfterHeal(
  { plan, marks, perSecond }: FailoverResult,
  seconds: readonly Second[],
): number | null | undefined {
  if (!plan.cut) return undefined;
  const { started } = marks;
  const { recoveredAt } = recoveryOf(seconds, {
    perSecond,
    killedAt: started,
    countedFrom: started,
  });
  return recoveredAt === undefined ? null : recoveredAt - started;
}

/** What was completed before the kill, in percent of what was offered. */
function steadyPercent({ marks, perSecond }: FailoverResult, seconds: readonly Second[]): number {
  const before = seconds.slice(0, Math.floor(marks.killed));
  const completed = sum(before.map((one) => one.completed));
  return (100 * completed) / (perSecond * before.length);
}

/**
 * Why the rate before the kill is none that could come back: the load was not kept up with, or too
 * little of it was completed to be 95 % of anything. Null if it is one.
 */
function whyNotSteady(
  { marks, perSecond }: FailoverResult,
  seconds: readonly Second[],
): string | null {
  const before = seconds.slice(0, Math.floor(marks.killed));
  const offered = sum(before.map(({ arrived }) => arrived));
  const completed = sum(before.map((one) => one.completed));
  const backlog = { growth: offered - completed, perSecond, seconds: before.length };
  const reason = whyNotKeptUp({ offered, completed, unit: 'transactions', backlog });
  if (reason !== null) return `the load was not kept up with before the failure: ${reason}`;
  const percent = (100 * completed) / (perSecond * before.length);
  return percent >= 100 * SHARE
    ? null
    : `only ${Math.floor(percent)} % was completed before the failure`;
}

/** The experiment's own conditions: without them a run has shown no failure, or not its end. */
function whatDidNotHappen(result: FailoverResult): readonly string[] {
  const all = [...result.arrivals, ...result.followers];
  const open = all.filter(({ completedMs }) => completedMs === undefined).length;
  return [
    ...(isOfServers(result) ? whatServersDidNot(result) : []),
    ...(result.dropped === 0 ? ['the hosts that were cut off had nothing to send'] : []),
    ...(result.marks.killed < measuredSeconds(result)
      ? []
      : ['the failure came only after the end of the measurement']),
    ...(open > 0
      ? [`${counted(open, manyOf(result))} not completed two minutes after the end`]
      : []),
    ...(open === 0 && result.check === undefined
      ? [
          all.some(({ acknowledgedMs }) => acknowledgedMs === undefined)
            ? 'writers had no answer two minutes after the end'
            : 'observers still had work two minutes after the end',
        ]
      : []),
  ];
}

/** The length of the measurement, in whole seconds. */
function measuredSeconds({ plan }: FailoverResult): number {
  return Math.floor(plan.before + plan.down + plan.after);
}

function whatServersDidNot({ marks, regions }: FailoverResult): readonly string[] {
  return [
    ...(marks.detected === undefined ? ['the master did not find the failed servers dead'] : []),
    ...(regions === 0 ? ['the failed servers had no region'] : []),
    ...(marks.reassigned === undefined && regions > 0 ? ['not every region is served again'] : []),
  ];
}

function manyOf({ plan }: FailoverResult): string {
  return WORDS[plan.workload].many;
}

function headlineOf(result: FailoverResult, recovery: RateRecovery | undefined): string {
  const { marks, perSecond } = result;
  const begin = `${whatFailed(result)} at ${perSecond.toFixed(0)} ${manyOf(result)} a second. `;
  const from = countedFrom(result);
  if (recovery === undefined || from === undefined) {
    return `${begin}The master did not find them dead.`;
  }
  const detection = isOfServers(result)
    ? `The master found ${result.killed.length > 1 ? 'them' : 'it'} dead after ${(from - marks.killed).toFixed(1)} s; the`
    : 'The';
  const dip = `${detection} rate fell to ${recovery.lowestPercent.toFixed(0)} % at the lowest, and `;
  const back =
    recovery.recoveredAt === undefined
      ? 'did not come back for good.'
      : `95 % of the offered rate was back ${(recovery.recoveredAt - from).toFixed(1)} s after ${countedFromWords(result)}.`;
  return `${begin}${dip}${back}`;
}

/** `2 of 6 region servers were killed`, `The lock service was stopped for 60 s`. */
function whatFailed({ plan, killed }: Pick<FailoverResult, 'plan' | 'killed'>): string {
  const what = describeVictims(plan);
  const are = killed.length > 1 ? 'were' : 'was';
  const how = plan.cut
    ? `cut off for ${plan.down} s`
    : plan.pause
      ? `stopped for ${plan.down} s`
      : 'killed';
  return `${capital(what)} ${are} ${how}`;
}

function capital(words: string): string {
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}

function targetsOf(
  result: FailoverResult,
  recovery: RateRecovery | undefined,
  whyUnsteady: string | null,
): readonly Target[] {
  const { check, settled, arrivals, followers } = result;
  const tookSeconds =
    recovery?.recoveredAt === undefined
      ? undefined
      : recovery.recoveredAt - (countedFrom(result) ?? 0);
  const isInTime = (seconds: number): boolean => seconds <= TARGET_RECOVERY_SECONDS;
  const unknown = settled.committed + settled.rolledBack + settled.open;
  const { length: unfinished } = [...arrivals, ...followers].filter(
    ({ acknowledgedMs }) => acknowledgedMs === undefined,
  );
  return [
    lossTarget(check),
    {
      name: 'the rate comes back',
      target: `95 % of it within ${TARGET_RECOVERY_SECONDS} s after ${countedFromWords(result)}`,
      measured:
        tookSeconds === undefined ? 'never' : `after ${formatJudged(tookSeconds, 1, isInTime)} s`,
      ...(whyUnsteady !== null
        ? { met: null, reason: whyUnsteady }
        : { met: tookSeconds !== undefined && isInTime(tookSeconds) }),
      samples: arrivals.length,
    },
    {
      name: 'no transaction stays unknown',
      target: 'asking again settles each one whose answer was lost, and every transaction ends',
      measured:
        `of ${unknown}: ${settled.committed} committed, ${settled.rolledBack} rolled back, ` +
        `${settled.open} open; ${counted(unfinished, 'transactions')} not ended`,
      met: settled.open === 0 && unfinished === 0,
    },
  ];
}

function lossTarget(check: FailoverResult['check']): Target {
  const named = {
    name: 'nothing is lost',
    target: 'every check of the workload holds, and fsck finds no error',
  };
  if (check === undefined) {
    return {
      ...named,
      measured: 'not checked',
      met: null,
      reason: 'the load did not come to rest',
    };
  }
  const { wrong } = check;
  const measured = wrong.length === 0 ? 'they hold' : wrong.join('; ');
  return { ...named, measured, met: wrong.length === 0 };
}

function marksTable(
  result: FailoverResult,
  recovery: RateRecovery | undefined,
  seconds: readonly Second[],
): ResultTable {
  const { marks, regions, sinceKill, settled, check, lagP99Ms, capacity, perSecond } = result;
  const { killed, detected, reassigned, started, returned } = marks;
  const again = againAfterHeal(result, seconds);
  const back = recovery?.recoveredAt;
  const since = (at: number | undefined): number | null => (at === undefined ? null : at - killed);
  const many = manyOf(result);
  const rows: readonly (readonly [string, number | null, string])[] = [
    ['capacity', capacity ?? null, `${many}/s`],
    ['offered', perSecond, `${many}/s`],
    ['completed before the failure', steadyPercent(result, seconds), '% of the rate'],
    ['failed', killed, 's'],
    ['detected, after the failure', since(detected), 's'],
    ['all regions served again, after the failure', since(reassigned), 's'],
    ['95 % of the rate is back, after the failure', since(back), 's'],
    [
      '95 % of the rate is back, after detection',
      back === undefined || detected === undefined ? null : back - detected,
      's',
    ],
    ['started again, after the failure', since(started), 's'],
    ...(again === undefined
      ? []
      : [['95 % of the rate is back, after the heal', again, 's'] as const]),
    ...(result.dropped === undefined
      ? []
      : [['packets that the hosts could not send', result.dropped, ''] as const]),
    ['back, after the failure', since(returned), 's'],
    ['regions of the failed servers', regions, ''],
    ['lowest second', recovery?.lowestPercent ?? null, '% of the rate'],
    ['seconds below 95 %', recovery?.secondsBelow ?? null, 's'],
    ...COUNTERS.map((name) => [COUNTER_NAMES[name], sinceKill[name], ''] as const),
    ['unknown, then found committed', settled.committed, ''],
    ['unknown, then found rolled back', settled.rolledBack, ''],
    ...[...(check?.warnings ?? [])].map(
      ([code, count]) => [`fsck warning: ${code}`, count, ''] as const,
    ),
    ['lateness of the generator, p99', lagP99Ms, 'ms'],
  ];
  return resultTable(
    {
      name: 'failure',
      title: 'The failure, as the cluster and the load saw it',
      caption:
        `${isOfServers(result) ? LOG_OF_MASTER : ''}The rate is back for good if, from that second on, every ${WINDOW_SECONDS} seconds ` +
        `complete ${100 * SHARE} % of it, no second counting for more than ${Math.round(100 * COUNTED_MAX)} %. The counters are those of the client and all workers, from the failure to the end.`,
    },
    rows,
    [
      column('what', ([what]) => what),
      column('value', ([, value]) => rounded(value)),
      column('unit', ([, , unit]) => unit),
    ],
  );
}

const LOG_OF_MASTER =
  'The master of HBase says in its log when it found the servers dead, when their regions were served again, and when ' +
  'the servers came back. ';

const COUNTER_NAMES = {
  conflicts: 'conflicts since the failure',
  unknown: 'commits without an answer since the failure',
  rolledForward: "others' locks rolled forward since the failure",
  rolledBack: "others' locks rolled back since the failure",
} as const;

function transactionsTable(result: FailoverResult): ResultTable {
  const { plan, fromMs, marks } = result;
  const arrivals = [...result.arrivals, ...result.followers];
  const at = (seconds: number): number => fromMs + 1000 * seconds;
  const killedMs = at(marks.killed);
  const straddled = [
    { attempts: 'in flight at the failure', ends: endsOf(arrivals, killedMs) },
    ...(marks.reassigned === undefined
      ? []
      : [
          {
            attempts: 'in flight at some time until all regions were served again',
            ends: endsOf(arrivals, killedMs, at(marks.reassigned)),
          },
        ]),
  ];
  return resultTable(
    {
      name: 'transactions',
      title: 'Attempts that straddled the failure',
      caption:
        `Attempts of ${WORDS[plan.workload].transactions}. After a conflict, or if the storage was unavailable, nothing is ` +
        'committed, and the caller tries again. If the outcome is unknown, the caller asks for it.',
    },
    straddled,
    [
      column('attempts', ({ attempts }) => attempts),
      ...ENDS.map((end) => column<(typeof straddled)[number]>(end, ({ ends }) => ends[end])),
    ],
  );
}

function secondsTable(result: FailoverResult, seconds: readonly Second[]): ResultTable {
  const percentile = (percent: number) => (second: Second) => rounded(latencyMs(second, percent));
  return resultTable(
    {
      name: 'seconds',
      title: 'Second by second',
      caption:
        `Latency, in milliseconds, of the ${manyOf(result)} that were due in that second, from then ` +
        `${WORDS[result.plan.workload].completed}. p90 and p99 need a hundred of them. Failed attempts are counted by the code of their error.`,
    },
    seconds,
    [
      rowName('second', ({ second }) => second),
      column('arrived', ({ arrived }) => arrived),
      column('completed', ({ completed }) => completed),
      column('median', percentile(50), lower('ms')),
      column('p90', ({ latencies }) => rounded(statedPercentileMs(latencies, 90))),
      column('p99', ({ latencies }) => rounded(statedPercentileMs(latencies, 99))),
      column('max', percentile(100)),
      column('samples', ({ latencies }) => latencies.totalCount),
      column('failed', ({ failed }) =>
        failed.size === 0
          ? null
          : [...failed].map(([code, count]) => `${code} ${count}`).join(', '),
      ),
    ],
  );
}

/** Null for a second in which nothing was due. */
function latencyMs({ latencies }: Second, percent: number): number | null {
  return latencies.totalCount === 0 ? null : percentileMs(latencies, percent);
}

const PAPERS_CURVE =
  'In figure 10 of the paper the rate falls at once, recovers as other servers load the tablets, and returns to its ' +
  'old level when the killed ones are back. ';

/** What happened, in its order; what did not happen is left out. */
function eventsOf({ plan, marks }: FailoverResult) {
  const { killed, detected, reassigned, started, returned } = marks;
  const [failed, again] = plan.cut
    ? ['cut off', 'connected again']
    : plan.pause
      ? ['stopped', 'went on']
      : ['killed', 'started again'];
  const all = [
    [failed, killed],
    ['found dead', detected],
    ['reassigned', reassigned],
    [again, started],
    ['back', returned],
  ] as const;
  return all.flatMap(([label, at]) => (at === undefined ? [] : [{ label, at }]));
}

const SECONDS = {
  title: 'Seconds since the measurement began',
  scale: 'linear',
  ticks: [],
} as const;

function eventsInWords(result: FailoverResult): string {
  return `${eventsOf(result)
    .map(({ label, at }) => `${label} at ${at.toFixed(0)} s`)
    .join(', ')}.`;
}

/** The axis of rates ends at this share of the rate that is offered, or the dip would be flat. */
const SHOWN_OF_RATE = 1.5;

function rateChart(result: FailoverResult, seconds: readonly Second[]): ResultChart {
  const pointsOf = (of: 'arrived' | 'completed'): ResultChart['series'][number]['points'] =>
    seconds.map((one) => ({ x: one.second, y: one[of], low: null, high: null, samples: one[of] }));
  return {
    name: 'failure',
    title: `${capital(manyOf(result))} a second: ${describeVictims(result.plan)} ${result.plan.cut ? 'cut off' : result.plan.pause ? 'stopped' : 'killed'}`,
    caption: `${isOfServers(result) ? PAPERS_CURVE : ''}Here ${eventsInWords(result)}`,
    x: SECONDS,
    spans: spansBetween(eventsOf(result)),
    y: {
      title: `${capital(manyOf(result))} per second`,
      scale: 'linear',
      ticks: [],
      max: SHOWN_OF_RATE * result.perSecond,
    },
    series: [
      { name: 'completed', look: 'percolator', isLine: true, points: pointsOf('completed') },
      { name: 'arrived', look: 'other', isLine: true, points: pointsOf('arrived') },
    ],
  };
}

function latencyChart(result: FailoverResult, seconds: readonly Second[]): ResultChart {
  const all = mergeHistograms(seconds.map(({ latencies }) => latencies));
  return {
    name: 'seconds-latency',
    title: `Latency by the second in which ${manyOf(result)} were due`,
    caption: `Latency of ${all.totalCount} ${manyOf(result)}, from when they were due ${WORDS[result.plan.workload].completed}. ${eventsInWords(result)}`,
    x: SECONDS,
    spans: spansBetween(eventsOf(result)),
    y: { title: 'Milliseconds', scale: 'logarithmic', ticks: [] },
    series: series(
      seconds,
      ({ second, latencies }) => ({ x: second, samples: latencies.totalCount }),
      [
        line('median', 'percolator', (second) => latencyMs(second, 50)),
        line('maximum', 'other', (second) => latencyMs(second, 100)),
      ],
    ),
  };
}

/*
 * The attempts of transactions that straddled the failure, by how they ended. An attempt is in
 * flight at a moment if it began before and ended after.
 *
 *     committed      the writer was told so
 *     conflict       another transaction was faster, or rolled it back: nothing was committed
 *     unknown        the answer to its commit was lost; later the writer asks how it ended
 *     unavailable    the storage failed before its commit was sent: nothing was committed
 */

const ENDS = ['committed', 'conflict', 'unknown', 'unavailable'] as const;
export type End = (typeof ENDS)[number];
type Ends = Readonly<Record<End, number>>;

const CONFLICTS: ReadonlySet<string> = new Set(['WRITE_CONFLICT', 'ROLLED_BACK', 'LOCKED']);

/** Ends of the attempts that overlap with the time from `fromMs` to `toMs`. */
export function endsOf(arrivals: readonly Arrival[], fromMs: number, toMs: number = fromMs): Ends {
  const ends = { committed: 0, conflict: 0, unknown: 0, unavailable: 0 };
  for (const attempt of arrivals.flatMap(({ attempts }) => attempts)) {
    if (attempt.beganMs <= toMs && attempt.endedMs >= fromMs) ends[endOf(attempt)]++;
  }
  return ends;
}

function endOf({ outcome }: TransactionAttempt): End {
  if (outcome === COMMITTED) return 'committed';
  if (outcome === UNKNOWN) return 'unknown';
  return CONFLICTS.has(outcome) ? 'conflict' : 'unavailable';
}
