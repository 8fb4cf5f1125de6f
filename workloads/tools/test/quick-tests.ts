/**
 * All tests that are not slow (slow.ts), in two processes, one for each core: in half of their
 * files the tests take less time than the start of a process. Each file of slow tests has a process
 * of its own, because they start servers and browsers, wait for clocks, or measure what their
 * process uses.
 */
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { quickTests } from './slow.ts';

const ROOT = path.resolve(import.meta.dirname, '../../..');

/** Every other file, so that the two processes take about the same time. */
export async function runQuickTests(half: 'first' | 'second'): Promise<void> {
  for (const [i, file] of quickTests().entries()) {
    if ((i % 2 === 0) !== (half === 'first')) continue;
    await import(pathToFileURL(path.join(ROOT, file)).href);
  }
}
