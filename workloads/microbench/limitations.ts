/** What a reader must know before trusting the numbers. */
import type { Plan } from './plan.ts';

const SHARED =
  'it, the storage and all other processes that this run starts share the cores of one machine. The paper measured one tablet server, whose processor was the limit.';

const EMULATOR = 'the emulator keeps everything in memory and survives nothing.';

const ONE_PROCESS: readonly string[] = [
  `One process with one JavaScript thread is the client; ${SHARED}`,
  'The timestamp oracle hands out timestamps from memory under a lease, like the paper’s, but in the process of the benchmark; with --processes it has a process of its own, and each request has to reach it.',
  `The embedded storage runs in the process of its client, so the CPU time of the client includes it; ${EMULATOR}`,
];

const ALWAYS: readonly string[] = [
  'Raw operations have the guarantees of the storage alone: a write is one cell, blind; a read is the newest version of one column. A Percolator read includes its start timestamp, which in the paper cost the tablet server nothing.',
];

/** @param load of the machine before the run, per core: 1 is fully busy */
export function limitationsOf(
  load: number,
  { processes }: Pick<Plan, 'processes'>,
): readonly string[] {
  const limitations = [...(processes === 0 ? ONE_PROCESS : inProcesses(processes)), ...ALWAYS];
  if (load < 0.5) return limitations;
  const busy = `The machine was busy with other work when the run began (load ${load.toFixed(1)} per core), so rates are too low, and their intervals are wide; CPU time per operation suffers less.`;
  return [busy, ...limitations];
}

function inProcesses(processes: number): readonly string[] {
  const clients = processes === 1 ? 'One process is' : `${processes} processes together are`;
  return [
    `${clients} the client of figure 8, each with one JavaScript thread; ${SHARED}`,
    'Oracle and lock service are a process each. Their CPU time is neither the client’s nor that of the storage’s server: it has a column of its own, and the relative CPU includes it.',
    'Everything after figure 8 (messages, sweeps, profiles, one caller at a time) has one client, the process of the benchmark; its oracle is the same process as before.',
    `The embedded storage runs in the process of the benchmark: in figure 8 its CPU time is that of the server, and after it that of the client includes it; ${EMULATOR}`,
  ];
}
