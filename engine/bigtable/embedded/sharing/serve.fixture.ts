/**
 * A program for tests: another process on the same folder, which executes its parent's requests.
 *
 * Started with `fork`, it takes messages `{ id, method, args }`, calls that method of its store,
 * and answers `{ id, value }` or `{ id, code }`. It ends when the parent disconnects.
 */
import process from 'node:process';
import { PercolatorError } from '../../../base/index.ts';
import { openEmbedded } from '../index.ts';

export type Method = 'readRow' | 'mutateRows' | 'checkAndMutateRows' | 'createTable' | 'dropTable';

export interface Request {
  readonly id: number;
  readonly method: Method;
  readonly args: readonly unknown[];
}

export interface Answer {
  readonly id: number;
  readonly value?: unknown;
  /** The code of the call's error. */
  readonly code?: string | undefined;
}

const store = await openEmbedded({ folder: process.argv[2] ?? '' });

async function answer({ id, method, args }: Request): Promise<Answer> {
  try {
    const call = store[method].bind(store) as (...args: readonly unknown[]) => Promise<unknown>;
    return { id, value: await call(...args) };
  } catch (error) {
    return { id, code: error instanceof PercolatorError ? error.code : String(error) };
  }
}

process.on('message', (request: Request) => {
  void answer(request).then((reply) => process.send?.(reply));
});
process.on('disconnect', () => void store.close());
process.send?.('open');
