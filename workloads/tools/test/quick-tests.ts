/**
 * All tests that are not slow (slow.ts), in one process: in half of their files the tests take less
 * time than the start of a process. Each file of slow tests has a process of
 * its own, because they start servers and browsers, wait for clocks, or measure what their process
 * uses.
 */
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { quickTests } from './slow.ts';

const ROOT = path.resolve(import.meta.dirname, '../../..');

for (const file of quickTests()) await import(pathToFileURL(path.join(ROOT, file)).href);
