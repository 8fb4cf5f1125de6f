/**
 * `percolator wait`: until a database is ready, or idle.
 *
 *     ready    the store answers; of the oracles named one leads, and of the lock services one answers
 *     idle     no notification waits in any table, in two looks in a row
 *
 * Why two? A run that turns a notification into others clears it after it has set them. A look
 * reads one table after the other, so it may see the first table before, and the last one after
 * that. The second look reads them in the opposite order. A cell that is parked waits for an
 * operator, and is no notification.
 */
import { existsSync } from 'node:fs';
import { hasCode, systemClock } from '../base/index.ts';
import type { Bigtable } from '../bigtable/index.ts';
import { openStore } from '../bigtable/open-store.ts';
import { allDefinitions, storedName } from '../tables/index.ts';
import { NOTIFY, notifyTable, WEAK } from '../transaction/index.ts';
import type { Configuration } from './configuration.ts';
import { noStore } from './connect.ts';
import { checkStoreExists } from './data.ts';
import { countCells, ifThere, readStatus } from './status.ts';

export type WaitFor = 'ready' | 'idle';

/** Milliseconds between two looks. */
const REST_MS = 250;
/** Milliseconds that the first look has, however short the time is. */
const FIRST_LOOK_MS = 5_000;

/**
 * Resolves to undefined when it is so; at the end of the time, to one sentence why not. A look that
 * has no answer by then may still go on.
 * @throws INVALID_ARGUMENT at once for a mistake in the configuration
 */
export async function waitFor(
  configuration: Configuration,
  what: WaitFor,
  timeoutSeconds: number,
): Promise<string | undefined> {
  const { store: address } = configuration;
  if (address === undefined) throw noStore();
  const beganMs = systemClock.monotonicMs();
  const untilMs = beganMs + timeoutSeconds * 1_000;
  const look = what === 'ready' ? whyNotReady : whyNotIdle;
  let why: string | undefined = 'the store has not answered';
  for (let limitMs = Math.max(untilMs, beganMs + FIRST_LOOK_MS); ; limitMs = untilMs) {
    const answer = await inTime(
      reasonOf(() => look(configuration)),
      limitMs,
    );
    if (answer === LATE) return why;
    why = answer;
    if (why === undefined || systemClock.monotonicMs() >= untilMs) return why;
    await systemClock.sleep(Math.min(REST_MS, untilMs - systemClock.monotonicMs()));
  }
}

const LATE = Symbol('late');

async function inTime<T>(work: Promise<T>, untilMs: number): Promise<T | typeof LATE> {
  const over = new AbortController();
  const late = systemClock
    .sleep(untilMs - systemClock.monotonicMs(), over.signal)
    .then((): typeof LATE => LATE);
  try {
    return await Promise.race([work, late]);
  } finally {
    over.abort();
  }
}

/** What is away now may be there soon; a mistake stays. */
async function reasonOf(look: () => Promise<string | undefined>): Promise<string | undefined> {
  try {
    return await look();
  } catch (error) {
    if (hasCode(error, 'INVALID_ARGUMENT') || !(error instanceof Error)) throw error;
    return error.message;
  }
}

async function whyNotReady(configuration: Configuration): Promise<string | undefined> {
  const { store } = configuration;
  if (store?.kind === 'embedded' && !existsSync(store.folder)) {
    return `the store ${store.folder} does not exist`;
  }
  const status = await readStatus(configuration, { withRate: false });
  const { database, oracles, lockServices } = status;
  const leads = oracles.some(({ state }) => state === 'leads');
  if (database === null) return 'the store has no database yet';
  if (oracles.length > 0 && !leads) return 'no oracle leads';
  const answers = lockServices.some((one) => one.answers);
  return lockServices.length > 0 && !answers ? 'no lock service answers' : undefined;
}

async function whyNotIdle(configuration: Configuration): Promise<string | undefined> {
  checkStoreExists(configuration);
  if (configuration.store === undefined) throw noStore();
  await using store = await openStore(configuration.store, { readOnly: true });
  const definitions = await ifThere(() => allDefinitions(store));
  if (definitions === undefined) return 'the store has no database yet';
  const there = [...definitions].flatMap(([table, one]) =>
    one?.state === 'there'
      ? [{ table, companion: notifyTable(storedName(table, one.incarnation)) }]
      : [],
  );
  return (await firstWaiting(store, there)) ?? (await firstWaiting(store, there.toReversed()));
}

async function firstWaiting(
  store: Bigtable,
  tables: readonly { readonly table: string; readonly companion: string }[],
): Promise<string | undefined> {
  for (const { table, companion } of tables) {
    const found = await ifThere(() => countCells(store, companion, [NOTIFY, WEAK]));
    const { count, isLeast } = found ?? { count: 0, isLeast: false }; // It was dropped meanwhile.
    if (count === 0) continue;
    return `${isLeast ? 'at least ' : ''}${count} notifications wait in table ${table}`;
  }
  return undefined;
}
