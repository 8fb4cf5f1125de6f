/**
 * Colours and fonts of charts and pages, light and dark.
 *
 * The colours of series follow Okabe and Ito, so that colour-blind readers can tell them apart;
 * they are darker or lighter, so that each contrasts with its background. Series also differ in the
 * shape of their marks, so that a page printed in grey can be read. In a chart that compares
 * systems, Percolator has the first colour, and the system it is compared with has the second.
 */
export interface Theme {
  readonly background: string;
  readonly text: string;
  readonly muted: string;
  readonly grid: string;
  readonly series: readonly string[];
  /** Numbers that the paper states. */
  readonly paper: string;
  readonly font: string;
}

export function chartTheme(dark: boolean): Theme {
  const font = 'Inter, "DejaVu Sans", system-ui, sans-serif';
  return dark
    ? {
        background: '#16191f',
        text: '#e6e8ec',
        muted: '#a3abb8',
        grid: '#2b3039',
        series: ['#56b4e9', '#f58a3c', '#12dc95', '#f2dff0', '#f5e02a', '#8b8a92'],
        paper: '#98a1af',
        font,
      }
    : {
        background: '#ffffff',
        text: '#1b1f27',
        muted: '#5b6472',
        grid: '#e4e7ec',
        series: ['#0072b2', '#c85200', '#0c8359', '#5c1c3c', '#4a3d05', '#5a6c80'],
        paper: '#6b7482',
        font,
      };
}

export function seriesColor(color: number | 'paper', theme: Theme): string {
  if (color === 'paper') return theme.paper;
  return theme.series[color % theme.series.length] ?? theme.text;
}
