/** The final output of `bench:mapreduce`. */
import { median } from 'simple-statistics';
import type { captureEnvironment } from '#results';
import type { Repeat } from './contest.ts';

export interface ContestSettings {
  readonly documents: number;
  readonly documentBytes: number;
  readonly seed: number;
  readonly workers: number;
  readonly memory: number;
}

/** Speed of the MapReduce relative to the pipeline: the ratio of the median times. */
export function medianRatio(repeats: readonly Repeat[]): number {
  const batch = median(repeats.map((repeat) => repeat.batchSeconds));
  return median(repeats.map((repeat) => repeat.pipelineSeconds)) / batch;
}

export function contestLines(settings: ContestSettings, repeats: readonly Repeat[]): string[] {
  const { documents, documentBytes, seed, workers, memory } = settings;
  const batch = repeats.map((repeat) => repeat.batchSeconds);
  const pipeline = repeats.map((repeat) => repeat.pipelineSeconds);
  return [
    `${count(documents)} documents of ${count(documentBytes)} bytes, seed ${seed}, ${workers} ` +
      `${workers === 1 ? 'worker' : 'workers'}, ${count(memory)} MiB each, ${repeats.length} ${repeats.length === 1 ? 'repeat' : 'repeats'}, taking turns`,
    '',
    timeLine('MapReduce', documents, batch),
    timeLine('map | sort | reduce', documents, pipeline),
    `${'ratio'.padEnd(LABEL)}  ${medianRatio(repeats).toFixed(2)}   (of the medians; above 1 the MapReduce is faster)`,
    '',
    phaseLine(repeats),
    `${'first repeat'.padEnd(LABEL)}  ${seconds(batch[0] ?? 0)} by MapReduce, with its code not compiled yet`,
    spillLine(repeats),
    `${'clusters'.padEnd(LABEL)}  ${count(repeats[0]?.batch.clusters ?? 0)}, the same from both in every repeat, ` +
      `digest ${repeats[0]?.digest.slice(0, 16)}`,
    `${'synced to the disk'.padEnd(LABEL)}  by both: the final clusters; by neither: the data between the phases`,
  ];
}

export function machineLine(environment: ReturnType<typeof captureEnvironment>): string {
  const { cpuModel, cores, memoryBytes, operatingSystem, fileSystem, nodeVersion } = environment;
  const memory = `${Math.round(memoryBytes / 2 ** 30)} GiB`;
  const parts = [cpuModel, `${cores} cores`, memory, operatingSystem, fileSystem ?? 'unknown disk'];
  return `${'machine'.padEnd(LABEL)}  ${[...parts, `Node ${nodeVersion}`].join(', ')}`;
}

const LABEL = 20;

function timeLine(label: string, documents: number, times: readonly number[]): string {
  const middle = median([...times]);
  const rate = count(Math.round(documents / middle)).padStart(11);
  const spread = `${seconds(Math.min(...times))} to ${seconds(Math.max(...times))}`;
  return `${label.padEnd(LABEL)}  ${seconds(middle)}  ${rate} documents/s   (${spread})`;
}

function phaseLine(repeats: readonly Repeat[]): string {
  const phases = [0, 1, 2].map((phase) => {
    const parts = repeats.flatMap(({ batch }) => batch.phases[phase]?.seconds ?? []);
    const map = median(parts.map((part) => part.map));
    const reduce = median(parts.map((part) => part.reduce));
    return `${phase + 1}: map ${seconds(map)}, reduce ${seconds(reduce)}`;
  });
  return `${'phases, MapReduce'.padEnd(LABEL)}  ${phases.join('   ')}`;
}

function spillLine(repeats: readonly Repeat[]): string {
  const phases = repeats[0]?.batch.phases ?? [];
  const shuffled = phases.reduce((sum, phase) => sum + phase.bytesShuffled, 0);
  const runs = phases.reduce((sum, phase) => sum + phase.sortedRuns, 0);
  const sorted = runs === 0 ? 'nothing sorted on disk' : `${count(runs)} runs sorted on disk`;
  return `${'shuffled'.padEnd(LABEL)}  ${(shuffled / 1e6).toFixed(1)} MB, ${sorted}`;
}

function seconds(value: number): string {
  return `${value.toFixed(value < 10 ? 2 : 1)} s`;
}

function count(value: number): string {
  return value.toLocaleString('en-US');
}
