/** What a reader must know before believing the numbers. */
import type { Plan } from './plan.ts';

const SHARED =
  'it, the storage and whatever else runs share the cores of one machine. The paper measured one tablet server, whose processor was the limit.';

const ONE_PROCESS: readonly string[] = [
  `One process is the client, with one thread of JavaScript; ${SHARED}`,
  'The timestamp oracle is kept in the same storage, and its reads are in the numbers; the paper had a server for it.',
];

const ALWAYS: readonly string[] = [
  'The embedded storage is in the process of its client, so its CPU time is in the client’s; the emulator keeps everything in memory and survives nothing.',
  'Raw writes and reads are as strong as the storage allows: one cell, blind; the newest version of one column. A Percolator read includes its start timestamp, which in the paper cost the tablet server nothing.',
];

/** @param load of the machine before the run, by its cores: 1 is fully busy */
export function limitationsOf(
  load: number,
  { processes }: Pick<Plan, 'processes'>,
): readonly string[] {
  const limitations = [...(processes === 0 ? ONE_PROCESS : inProcesses(processes)), ...ALWAYS];
  if (load < 0.5) return limitations;
  const busy = `The machine was busy with something else when the run began (load ${load.toFixed(1)} of each core), so rates are too low, and their intervals wide; CPU time for an operation suffers less.`;
  return [busy, ...limitations];
}

function inProcesses(processes: number): readonly string[] {
  const clients = processes === 1 ? 'One process is' : `${processes} processes together are`;
  return [
    `${clients} the client of figure 8, each with one thread of JavaScript; ${SHARED}`,
    'Oracle and lock service are a process each. Their CPU time is neither the client’s nor that of the storage’s server: it has a column of its own, and counts in the relative CPU.',
    'Everything after figure 8 (messages, sweeps, profiles, one caller at a time) has one client, which is the process of the benchmark; its oracle is the same process as before.',
  ];
}
