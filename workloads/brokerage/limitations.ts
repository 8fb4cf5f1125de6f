/** What a reader must know before trusting the numbers. */
import { availableParallelism, loadavg } from 'node:os';
import { counted } from '#harness';
import { LOAD_FACTOR_MAX, type Plan, SECONDS_PER_TRADE } from './plan.ts';

/** The price period of the specification. */
const PRICE_PERIOD_MS = 900_000;

export function limitationsOf({
  scale,
  seconds,
  processes,
  brokerUpdate,
  systems,
  parts,
}: Plan): readonly string[] {
  const { customers, initialTradeDays, dailyMarketDays, pricePeriodMs } = scale;
  const onCopies = [
    ...(parts.reads ? ['reads that batching saves'] : []),
    ...(parts.brokers ? ['modes of the broker update'] : []),
  ];
  const hasPostgres = systems.includes('functions') || systems.includes('frames');
  const load = (loadavg()[0] ?? 0) / availableParallelism();
  return [
    ...(load >= 0.5
      ? [
          `The machine was busy with other work when the run began (load ${load.toFixed(1)} per core), so the rates are too low.`,
        ]
      : []),
    'This benchmark resembles TPC-E but is not TPC-E: its TR/s are not comparable with any published result.',
    `The specification requires at least 5,000 customers, 300 days of trades, 1,305 days of prices and an hour or more of measurement; this run has ${customers} customers, ${days(initialTradeDays)} of trades, ${days(dailyMarketDays)} of prices and ${seconds} seconds per point${parts.paced ? `, low loads up to ${LOAD_FACTOR_MAX} times as long` : ''}.`,
    `The specification drives ${customers} customers at ${customers / SECONDS_PER_TRADE} TR/s; at a higher load, accounts and brokers are hotter than it intends.`,
    ...(pricePeriodMs < PRICE_PERIOD_MS
      ? [
          `Prices go up and down in ${pricePeriodMs / 1_000} s (the specification: ${PRICE_PERIOD_MS / 1_000} s), so that limit orders are triggered within a short run; fewer of them are pending at any time.`,
        ]
      : []),
    'Clients, servers and all other processes that this run starts share the cores of one machine; the paper measured thousands of cores.',
    processes === undefined
      ? 'One client process with one JavaScript thread drives each system; on the embedded store it contains the whole engine, and the oracle is kept in the store.'
      : `${counted(processes, 'client processes')} with one JavaScript thread ${processes === 1 ? 'drives' : 'each drive'} each system; the oracle and the lock service of Percolator are processes too, and their processor time counts.`,
    ...(processes !== undefined && onCopies.length > 0
      ? [
          `The ${onCopies.join(' and ')} are measured with one client process, which has its oracle in the store.`,
        ]
      : []),
    'Processor time is that of processes; the work of kernel threads, such as writing to the disk, is charged to no system.',
    'A collector removes old versions and deleted rows from the Percolator stores during the measurement, as autovacuum does for PostgreSQL; the processor time of both counts.',
    ...(systems.includes('emulator')
      ? [
          'For each read, the official emulator lists and sorts all rows of the range, whatever the limit; Bigtable does not. Its reads cost more as more trades are loaded.',
        ]
      : []),
    ...(systems.includes('hbase')
      ? [
          'HBase compiles its code while it runs and compacts when it likes, so its first minutes are slower and dearer than the rest.',
        ]
      : []),
    ...(brokerUpdate !== 'side-table'
      ? ['All systems treat the broker’s totals in the same way.']
      : hasPostgres
        ? [
            'PostgreSQL has no observers to aggregate a side table: it updates brokers in the transaction.',
          ]
        : []),
  ];
}

/** "1 day", "5 days"; `count` may be a fraction. */
export function days(count: number): string {
  return count === 1 ? '1 day' : `${count} days`;
}
