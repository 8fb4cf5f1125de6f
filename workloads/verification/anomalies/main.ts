/**
 * `./run.sh anomalies`: which anomalies are possible? (the tests of Hermitage, on every store)
 *
 * 1. Open each store, empty. One that is not installed is passed over in one line, unless it was
 *    named.
 * 2. Run every test on it, with real transactions.
 * 3. Print one table for all stores on which the same was seen.
 *
 * Exit codes: 0 if each store prevents what snapshot isolation prevents; 1 otherwise; 2 for a
 * mistake on the command line, or a named store that is missing.
 */
import { mkdtempDisposable } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { type Bigtable, openStore } from '#engine';
import { flag, type Option, runCommand, storesOption } from '#harness';
import { UsageError } from '#results';
import { createMemoryBigtable } from '../../../engine/testing/memory-bigtable.ts';
import { provideEmptyStore } from '../../harness/stores.ts';
import { observeAnomalies } from './observe.ts';
import { isAsPromised, type ObservedStore, tablesOf } from './table.ts';

const MEMORY = 'memory';
/** HBase is only started when it is named, because that takes half a minute. */
const USUAL = [MEMORY, 'embedded', 'emulator'];

await runCommand(
  {
    script: 'anomalies',
    description:
      'Tries to bring about each anomaly of the Hermitage tests with real transactions, and prints a table: what ' +
      'the transactions did and saw, whether the anomaly is prevented or possible, and the story that shows it in ' +
      'the explorer. Snapshot isolation permits those of the kind G2, and lock() closes them; where it is not so, ' +
      'the script fails.',
    options: {
      store: storesAndMemory(),
      json: flag({ description: 'print what was seen as JSON' }),
    },
    examples: [
      { command: './run.sh anomalies', does: 'On each store that needs no server of yours.' },
      { command: './run.sh anomalies --store hbase', does: 'On an HBase that is started here.' },
    ],
  },
  async ({ store: named, json }, { signal }) => {
    const seen: ObservedStore[] = [];
    for (const name of named.length === 0 ? USUAL : named) {
      const anomalies = await observeOn(name, named.includes(name));
      if (anomalies !== undefined) seen.push({ store: name, anomalies });
      if (signal.aborted) return;
    }
    process.stdout.write(json ? `${JSON.stringify(seen, null, 2)}\n` : tablesOf(seen));
    if (!isAsPromised(seen)) process.exitCode = 1;
  },
);

/** As of scripts that measure, and a store in memory. */
function storesAndMemory(): Option<readonly string[]> {
  const stores = storesOption(USUAL);
  const expected = `${MEMORY}, ${stores.expected}`;
  const parse = (given: string): { value: readonly string[] } | null => {
    const names = [...new Set(given.split('\0'))];
    const others = names.filter((name) => name !== MEMORY);
    const isKnown = others.length === 0 || stores.parse(others.join('\0')) !== null;
    return isKnown ? { value: names } : null;
  };
  return { ...stores, expected, parse, fallback: () => [] };
}

/** Undefined if the store is missing, which is an error only if it was named. */
async function observeOn(
  name: string,
  isNamed: boolean,
): Promise<ObservedStore['anomalies'] | undefined> {
  try {
    await using opened = new AsyncDisposableStack();
    return await observeAnomalies(await openEmpty(name, opened));
  } catch (error) {
    if (isNamed || !(error instanceof UsageError)) throw error;
    process.stderr.write(`Not on ${name}: ${error.message}\n`);
    return undefined;
  }
}

async function openEmpty(name: string, opened: AsyncDisposableStack): Promise<Bigtable> {
  if (name === MEMORY) return createMemoryBigtable();
  const folder = opened.use(await mkdtempDisposable(path.join(os.tmpdir(), 'anomalies-')));
  const embedded = { folder: folder.path };
  // An HBase in one process: which server has a region makes no difference to isolation.
  const provided = opened.use(await provideEmptyStore(name, embedded, { regionServers: 0 }));
  return opened.use(await openStore(provided.address));
}
