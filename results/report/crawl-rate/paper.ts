/** Numbers that the paper states about its figure 7 (section 3.1); none is read off the drawing. */
import type { ChartSeries } from '../charts/chart.ts';

export interface PaperFigures {
  readonly ratePercentPerHour: number;
  readonly mapreduceSeconds: number;
  readonly mapreduceProcessingSeconds: number;
  readonly percolatorSeconds: number;
  readonly percolatorWallPercentPerHour: number;
}

export const PAPER: PaperFigures = {
  ratePercentPerHour: 1,
  mapreduceSeconds: 30 * 60,
  /** One run of the three MapReduces: T0, by which the normalised axes are scaled. */
  mapreduceProcessingSeconds: 20 * 60,
  percolatorSeconds: 2,
  percolatorWallPercentPerHour: 40,
};

/** How a chart shows what the paper states. */
export const PAPER_SERIES: Omit<ChartSeries, 'marks'> = {
  name: 'the paper, on its machines',
  color: 'paper',
  marker: 'rectRot',
  isHollow: true,
  line: 'none',
};
