/** The plan of a run: what it will do, how long that takes, and how much disk. */
import { counted, type Parameters, type StoreDescription } from '#results';
import { bytesText } from './disk-space.ts';

export interface Plan {
  /** What will be measured, in words that continue "Plan:": "4 points of 5 s each". */
  readonly about: string;
  /** The expected duration of the whole run. */
  readonly seconds: number;
  /** The most that the run has on the disk at a time, where that matters. */
  readonly diskBytes?: number;
  /** Default: `--seed`, or 0 for a run without a random choice. */
  readonly seed?: number;
  /** Default: `--repeats`, or 1. */
  readonly repeats?: number;
  /** Default: all options except the profile and those of the output (parameters.ts). */
  readonly parameters?: Parameters;
  readonly store: StoreDescription;
  readonly limitations: readonly string[];
}

/** "Plan: 4 points of 5 s each; about 30 seconds, up to 2.4 GB below results/runs/x." */
export function planLine({ about, seconds, diskBytes }: Plan, folder: string): string {
  const disk = diskBytes === undefined ? '' : `, up to ${bytesText(diskBytes)} below ${folder}`;
  return `Plan: ${about}; about ${durationText(seconds)}${disk}.`;
}

/** A rough duration: "20 seconds", "5 minutes", "2 hours". */
export function durationText(seconds: number): string {
  if (seconds < 90) return counted(Math.max(5, 5 * Math.round(seconds / 5)), 'seconds');
  if (seconds < 90 * 60) return counted(Math.round(seconds / 60), 'minutes');
  return counted(Math.round(seconds / 3_600), 'hours');
}
