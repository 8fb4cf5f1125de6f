/**
 * From the files of a run to what people read: CSV tables, `figure-7.png` and `report.html`.
 *
 * Everything here is a pure function of `run.json`, the histograms and the time series: no clock,
 * no chance, so a rebuilt report is the same to the byte.
 */
import path from 'node:path';
import { readMeasuredRun } from './measured-run.ts';
import { percentilesCsv, pointsCsv } from './tables.ts';
import { writeFileAtomically } from './write-file.ts';

/** The paths of what was made. */
export interface ReportFiles {
  readonly pointsCsv: string;
  readonly percentilesCsv: string;
}

/** Makes, or makes again, everything derived from the run in `folder`. */
export async function buildReport(folder: string): Promise<ReportFiles> {
  const run = readMeasuredRun(folder);
  const files: ReportFiles = {
    pointsCsv: path.join(folder, 'points.csv'),
    percentilesCsv: path.join(folder, 'latency-percentiles.csv'),
  };
  writeFileAtomically(files.pointsCsv, pointsCsv(run.record.points));
  writeFileAtomically(files.percentilesCsv, percentilesCsv(run.latencies));
  return Promise.resolve(files);
}
