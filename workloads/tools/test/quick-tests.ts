/**
 * All tests that are not slow (slow.ts), in one process: to start a process for each of their files
 * would take longer than the tests in half of the files. Each file of slow tests has a process of
 * its own, because they start servers and browsers, wait for clocks, or measure what their process
 * uses.
 */
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { quickTests } from './slow.ts';

const ROOT = path.resolve(import.meta.dirname, '../../..');

for (const file of quickTests()) await import(pathToFileURL(path.join(ROOT, file)).href);
