/**
 * Runs the tests of Hermitage (engine/testing/hermitage.ts) on a store, each transaction in a
 * process of its own: a client with its own oracle, watches and name.
 */
import { type Bigtable, openPercolator, type Percolator } from '#engine';
import {
  HERMITAGE,
  HERMITAGE_COLUMN,
  HermitageScene,
  type HermitageTest,
} from '../../../engine/testing/hermitage.ts';

/** What was seen of one test on one store. */
export interface ObservedAnomaly {
  readonly test: HermitageTest;
  /** Whether the anomaly happened. */
  readonly happened: boolean;
  /** What the transactions did and saw, in order. */
  readonly told: readonly string[];
  /** The name of the story that shows it in the explorer. */
  readonly story: string;
}

const TABLE = 'hermitage';

/**
 * Names of stories, by the title of the test. Three tests have the story of another one that ends
 * in the same way.
 */
export const STORIES: Readonly<Record<string, string>> = {
  'write cycle': 'write-cycle-prevented',
  'aborted read': 'crash-before-commit',
  'intermediate read': 'intermediate-read-prevented',
  'circular information flow': 'circular-flow-prevented',
  'observed transaction vanishes': 'vanishing-prevented',
  'a predicate finds more the second time': 'predicate-read-prevented',
  'a write that follows a predicate': 'predicate-write-prevented',
  'lost update': 'lost-update-prevented',
  'read skew': 'read-skew-prevented',
  'read skew with predicates': 'predicate-read-prevented',
  'read skew through a write': 'lost-update-prevented',
  'write skew': 'write-skew',
  'write skew, with lock()': 'write-skew-closed',
  'write skew, with shared locks': 'write-skew-closed',
  'write skew through a predicate': 'predicate-skew',
  'write skew through a predicate, with lock()': 'predicate-skew-closed',
  'read-only anomaly': 'read-only-anomaly',
  'read-only anomaly, with lock()': 'read-only-closed',
};

/** @param store one without the table; it stays open, and has the table afterwards */
export async function observeAnomalies(store: Bigtable): Promise<readonly ObservedAnomaly[]> {
  await using processes = new AsyncDisposableStack();
  const opened = new Map<string, Percolator>();
  const processOf = async (name: string): Promise<Percolator> => {
    const found = opened.get(name) ?? processes.use(await openPercolator({ store }));
    opened.set(name, found);
    return found;
  };
  await (await processOf('T0')).createTable(TABLE, { sharedColumns: [HERMITAGE_COLUMN] });
  const observed: ObservedAnomaly[] = [];
  for (const test of HERMITAGE) {
    const scene = new HermitageScene(TABLE, async (name) => (await processOf(name)).begin());
    await scene.reset();
    const happened = await test.run(scene);
    observed.push({ test, happened, told: scene.told, story: STORIES[test.title] ?? '' });
  }
  return observed;
}
