/**
 * The program of the page, made from the same functions that draw the PNG.
 *
 * Node has already stripped the types when a module is loaded, so the text of a function is
 * JavaScript a browser can run. There is no bundler: the exports of each module below are written
 * one after the other into one scope. Hence two rules for these modules: everything at their top
 * level is exported under a name that no other module uses, and is a function or plain data.
 */
import * as axes from '../charts/axes.ts';
import * as decorations from '../charts/decorations.ts';
import * as drawChart from '../charts/draw-chart.ts';
import * as format from '../charts/format.ts';
import * as theme from '../charts/theme.ts';
import * as pageScript from './page-script.ts';

const MODULES: readonly object[] = [format, theme, axes, decorations, drawChart, pageScript];

/** One expression statement. It needs `Chart` of chart.js, and runs at once. */
export function browserSource(): string {
  const functions = MODULES.flatMap((module) => Object.entries(module)).map(([name, value]) => {
    if (typeof value !== 'function') return `const ${name} = ${JSON.stringify(value)};`;
    return String(value);
  });
  return `(() => {\n'use strict';\n${functions.join('\n')}\nstartPage();\n})();`;
}
