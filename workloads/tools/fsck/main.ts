/**
 * `./run.sh fsck --store <store>`: is a database consistent? (engine/audit)
 *
 * 1. Open the store read-only: refuse a folder that is not a store, and create nothing in it.
 * 2. Audit its tables; with `--repair`, open the store again for writing, and repair during the
 *    audit.
 * 3. Print the findings by code, with the first few of each; or the same as JSON.
 *
 * Exit codes: 0 if there is no error, or all errors were repaired; 1 otherwise; 2 for a mistake on
 * the command line; 130 if it was interrupted, which the report says.
 */
import { type Bigtable, fsck, openEmbedded, openStore, PercolatorError } from '#engine';
import { FsckReport, reportLines } from '#engine/host';
import { flag, integer, runCommand, startProgress, text, textList } from '#harness';
import { UsageError } from '#results';
import { checkReadableFolder } from '../../harness/command-line/surroundings.ts';
import { checkStoreName, namedEmulator, provideStore } from '../../harness/stores.ts';

const specification = {
  script: 'fsck',
  description:
    'Audits the tables of a database: locks that no transaction can resolve, records without data, lost ' +
    'notifications and other violations; also lists leftovers of crashes, locks held for long ' +
    'and parked observers. Writes nothing without --repair. The database may be in use.',
  options: {
    store: text({
      description:
        'folder of an embedded store, or bigtable://project/instance[?appProfile=name], or ' +
        'hbase://host:port, or emulator for the one that BIGTABLE_EMULATOR_HOST names',
      placeholder: 'store',
    }),
    table: textList({
      description: 'a table to audit; may be given several times',
      placeholder: 'name',
      defaultText: 'every table',
    }),
    repair: flag({ description: 'make the safe repairs, and report the others' }),
    json: flag({ description: 'print the report as JSON' }),
    limit: integer({
      description: 'printed findings of each code; all are counted',
      default: 5,
      min: 0,
      max: 1_000_000,
    }),
  },
  examples: [
    { command: './run.sh fsck --store accounts', does: 'Audits every table of that store.' },
    {
      command: './run.sh fsck --store accounts --table balances --repair',
      does: 'Audits one table, and makes the safe repairs.',
    },
  ],
} as const;

await runCommand(specification, async (options, { signal }) => {
  const { json, limit, repair } = options;
  const given = checkStore(options.store);
  await using store = await (isRemote(given) ? openRemotely(given, repair) : open(given, repair));
  const report = new FsckReport(limit);
  const progress = startProgress({ stream: process.stderr });
  const audit = await startAudit(store, { tables: options.table, repair });
  progress.phase('auditing', 0, 'rows');
  try {
    for await (const finding of untilAborted(audit, signal)) {
      report.add(finding);
      progress.update(audit.counters.rows);
    }
    progress.update(audit.counters.rows);
  } finally {
    progress.end(); // Also before a failure is reported: a bar would erase the sentence.
  }
  const about = { store: given, repair, interrupted: signal.aborted, ...audit.counters };
  const summary = report.summary(about);
  const lines = json ? [JSON.stringify(summary, null, 2)] : reportLines(summary);
  process.stdout.write(`${lines.join('\n')}\n`);
  if (summary.errorsLeft > 0) process.exitCode = 1;
});

/** Ends at once when the signal is aborted: the next finding of an audit may take long. */
async function* untilAborted<T>(source: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  const aborted = Promise.withResolvers<null>();
  signal.addEventListener('abort', () => aborted.resolve(null));
  const iterator = source[Symbol.asyncIterator]();
  while (!signal.aborted) {
    const next = await Promise.race([iterator.next(), aborted.promise]);
    if (next === null || next.done === true) return;
    yield next.value;
  }
}

function checkStore(given: string | undefined): string {
  if (given !== undefined) return given;
  throw new UsageError('--store must be given: the folder of an embedded store, or a remote one.');
}

function isRemote(given: string): boolean {
  return given === 'emulator' || /^(?:bigtable|hbases?):/.test(given);
}

async function openRemotely(given: string, repair: boolean): Promise<Bigtable> {
  if (given === 'emulator' && namedEmulator() === undefined) {
    throw new UsageError(
      '--store emulator audits the emulator that BIGTABLE_EMULATOR_HOST names; a newly started one would be empty.',
    );
  }
  const options = { readOnly: !repair };
  const { address } = await provideStore(checkStoreName(given), { folder: '' }, options);
  return openStore(address, options);
}

/** Opens the folder read-only first, which creates nothing, even before a repair. */
async function open(folder: string, repair: boolean): Promise<Bigtable> {
  checkReadableFolder('--store', folder, 'the folder of an embedded store');
  try {
    const store = await openEmbedded({ folder, readOnly: true, salvage: true });
    if (!repair) return store;
    await store.close();
  } catch (error) {
    if (!(error instanceof PercolatorError) || error.code === 'STORE_DAMAGED') throw error;
    const reason = error.cause instanceof Error ? error.cause.message : error.message;
    throw new UsageError(
      `--store must be the folder of an embedded store, but ${JSON.stringify(folder)} cannot be opened as one: ${reason}.`,
      { cause: error },
    );
  }
  return openEmbedded({ folder });
}

async function startAudit(
  store: Bigtable,
  { tables, repair }: { readonly tables: readonly string[]; readonly repair: boolean },
): ReturnType<typeof fsck> {
  const chosen = tables.length === 0 ? undefined : tables;
  try {
    return await fsck(store, { tables: chosen, repair, waitForLocks: true });
  } catch (error) {
    if (!(error instanceof PercolatorError) || error.code !== 'TABLE_NOT_FOUND') throw error;
    throw new UsageError(`--table must name a table of the store: ${error.message}.`, {
      cause: error,
    });
  }
}
