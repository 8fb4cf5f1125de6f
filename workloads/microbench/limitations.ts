/** What a reader must know before believing the numbers. */
const ALWAYS: readonly string[] = [
  'One process is the client, with one thread of JavaScript; it, the storage and whatever else runs share the cores of one machine. The paper measured one tablet server, whose processor was the limit.',
  'The embedded storage is in the process of its client, so its CPU time is in the client’s; the emulator keeps everything in memory and survives nothing.',
  'Raw writes and reads are as strong as the storage allows: one cell, blind; the newest version of one column. A Percolator read includes its start timestamp, which in the paper cost the tablet server nothing.',
  'The timestamp oracle is kept in the same storage, and its reads are in the numbers; the paper had a server for it.',
];

/** @param load of the machine before the run, by its cores: 1 is fully busy */
export function limitationsOf(load: number): readonly string[] {
  if (load < 0.5) return ALWAYS;
  const busy = `The machine was busy with something else when the run began (load ${load.toFixed(1)} of each core), so rates are too low, and their intervals wide; CPU time for an operation suffers less.`;
  return [busy, ...ALWAYS];
}
