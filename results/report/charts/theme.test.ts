/** The colours of series can be seen and told apart, also by colour-blind readers. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { chartTheme } from './theme.ts';

type Rgb = readonly [number, number, number];

/** Linear light, as a display emits it. */
function linear(color: string): Rgb {
  const channel = (at: number): number => {
    const share = Number.parseInt(color.slice(at, at + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  };
  return [channel(1), channel(3), channel(5)];
}

function luminance([red, green, blue]: Rgb): number {
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** As WCAG 2 defines it. */
function contrast(one: string, other: string): number {
  const [high = 0, low = 0] = [luminance(linear(one)), luminance(linear(other))].toSorted(
    (a, b) => b - a,
  );
  return (high + 0.05) / (low + 0.05);
}

/** Viénot, Brettel and Mollon 1999: what a dichromat without red or green cones sees. */
const VISIONS: Readonly<Record<string, (rgb: Rgb) => Rgb>> = {
  all: (rgb) => rgb,
  'no red': ([r, g, b]) => {
    const mixed = 0.11238 * r + 0.88762 * g;
    return [mixed, mixed, 0.00401 * r - 0.00401 * g + b];
  },
  'no green': ([r, g, b]) => {
    const mixed = 0.29275 * r + 0.70725 * g;
    return [mixed, mixed, -0.02234 * r + 0.02234 * g + b];
  },
};

/** The distance in CIELAB. */
function distance(one: Rgb, other: Rgb): number {
  const [a, b] = [lab(one), lab(other)];
  return Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}

function lab(rgb: Rgb): Rgb {
  const [r, g, b] = rgb;
  const root = (value: number): number =>
    value > 0.008856 ? Math.cbrt(value) : 7.787 * value + 16 / 116;
  const x = root((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505);
  const y = root(luminance(rgb));
  const z = root((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089);
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

for (const dark of [false, true]) {
  const theme = chartTheme(dark);
  describe(`the ${dark ? 'dark' : 'light'} colours`, () => {
    test('contrast with the background', () => {
      // WCAG 2 asks for 4.5 for text, and only for 3 for graphics; here, graphics need 4.
      const expected = [
        ...[...theme.series, theme.paper].map((color) => [color, 4] as const),
        ...[theme.text, theme.muted].map((color) => [color, 4.5] as const),
      ];
      for (const [color, least] of expected) {
        const found = contrast(color, theme.background);
        assert.ok(found >= least, `${color}: ${found.toFixed(2)}`);
      }
    });

    for (const [vision, seen] of Object.entries(VISIONS)) {
      test(`differ for eyes with ${vision === 'all' ? 'all cones' : vision + ' cones'}`, () => {
        for (const [i, one] of theme.series.entries()) {
          for (const other of theme.series.slice(i + 1)) {
            const found = distance(seen(linear(one)), seen(linear(other)));
            // A distance of about 2.3 can just be noticed.
            assert.ok(found >= 15, `${one} and ${other}: ${found.toFixed(1)}`);
          }
        }
      });
    }
  });
}
