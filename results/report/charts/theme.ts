/**
 * Colours and fonts of the charts, light and dark. Colour-blind readers can tell both hues apart.
 */
export interface Theme {
  readonly background: string;
  readonly text: string;
  readonly muted: string;
  readonly grid: string;
  readonly percolator: string;
  readonly mapreduce: string;
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
        percolator: '#6aa9ff',
        mapreduce: '#ff9d5c',
        paper: '#98a1af',
        font,
      }
    : {
        background: '#ffffff',
        text: '#1b1f27',
        muted: '#5b6472',
        grid: '#e4e7ec',
        percolator: '#1a5fd0',
        mapreduce: '#c2500a',
        paper: '#7a8392',
        font,
      };
}
