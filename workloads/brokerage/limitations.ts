/** What a reader must know before believing the numbers. */
import { availableParallelism, loadavg } from 'node:os';
import type { Plan } from './plan.ts';

export function limitationsOf({
  scale,
  seconds,
  processes,
  brokerUpdate,
  ways,
}: Plan): readonly string[] {
  const { customers, initialTradeDays, dailyMarketDays, pricePeriodMs } = scale;
  const load = (loadavg()[0] ?? 0) / availableParallelism();
  return [
    ...(load >= 0.5
      ? [
          `The machine was busy with something else when the run began (load ${load.toFixed(1)} of each core), so rates are too low.`,
        ]
      : []),
    'This is like TPC-E and not TPC-E: TR/s are not comparable with any published result.',
    `The specification has at least 5,000 customers, 300 days of trades, 1,305 days of prices and an hour or more to measure; here it is ${customers} customers, ${initialTradeDays} days, ${dailyMarketDays} days and ${seconds} seconds a point.`,
    `So few customers are driven far above their nominal ${customers / 500} TR/s, which makes accounts and brokers hotter than they would be.`,
    `Prices go up and down in ${pricePeriodMs / 1_000} s (the specification: 900 s), so that limit orders are triggered within a short run; fewer of them are pending at a time.`,
    'Clients, servers and whatever else runs share the cores of one machine; the paper measured thousands of cores.',
    processes === undefined
      ? 'One client process drives each system, with one thread of JavaScript; on the embedded store it contains the whole engine, and the oracle is kept in the store.'
      : `${processes} client processes drive each system, with one thread of JavaScript each; oracle and lock service of ours are processes as well, and count.`,
    'Processor time is that of processes; what the kernel does in threads of its own, such as writing to the disk, is nobody’s.',
    'A collector removes old versions and deleted rows from our stores while they are measured, as autovacuum does for PostgreSQL; what either uses of the processor counts.',
    ...(ways.includes('emulator')
      ? [
          'The official emulator lists and sorts all rows of a range for each read, whatever its limit; Bigtable does not. The more trades are loaded, the more its reads cost.',
        ]
      : []),
    brokerUpdate === 'side-table'
      ? 'PostgreSQL has no observers to sum up a side table: it updates brokers in the transaction.'
      : 'Both systems treat the broker’s totals alike.',
  ];
}
