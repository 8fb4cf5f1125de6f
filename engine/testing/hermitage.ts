/**
 * The anomalies of Hermitage by their names (most are Adya's, after github.com/ept/hermitage), as
 * programs that try to bring each about, on whatever store and in whatever processes a caller has.
 *
 * Each begins with two rows, 1 → 10 and 2 → 20, and says whether the anomaly was seen. Snapshot
 * isolation prevents all but those of the kind G2, and these vanish with `lock(cell)`. The table
 * takes shared locks in the column `HERMITAGE_COLUMN`.
 */
import { hasCode, textOf } from '../base/index.ts';
import type { Transaction } from '../transaction/index.ts';

export interface HermitageTest {
  /** `G1a`; unique with the title. */
  readonly name: string;
  /** What would happen, in a few words. */
  readonly title: string;
  /** Whether snapshot isolation permits it. */
  readonly isPermitted: boolean;
  /** Resolves to whether it was seen. */
  readonly run: (scene: HermitageScene) => Promise<boolean>;
}

/** A table, with two rows before each test, and what its transactions did and saw. */
export class HermitageScene {
  /** One clause each, in order: `T1 reads 1 = 10`. */
  readonly told: string[] = [];
  readonly #table: string;
  readonly #begin: (name: string) => Promise<Transaction>;

  /** @param begin a transaction of the process that has this name */
  constructor(table: string, begin: (name: string) => Promise<Transaction>) {
    this.#table = table;
    this.#begin = begin;
  }

  /** Puts the two rows there, and nothing else. */
  async reset(): Promise<void> {
    const transaction = await this.#begin('T0');
    for await (const { row } of transaction.scan({
      table: this.#table,
      columns: [HERMITAGE_COLUMN],
    })) {
      transaction.delete(this.#cell(row));
    }
    transaction.set(this.#cell('1'), '10');
    transaction.set(this.#cell('2'), '20');
    await transaction.commit();
  }

  async begin(name: string): Promise<HermitageTransaction> {
    const transaction = await this.#begin(name);
    const tell = (what: string): void => void this.told.push(`${name} ${what}`);
    return new HermitageTransaction(transaction, this.#table, tell);
  }

  /** All rows afterwards: `1 = 11, 2 = 21`. */
  async left(): Promise<string> {
    const rows = await rowsOf(await this.#begin('T9'), this.#table);
    const left = [...rows].map(([row, value]) => `${row} = ${value}`).join(', ');
    this.told.push(`left: ${left}`);
    return left;
  }

  #cell(row: string) {
    return { table: this.#table, row, column: HERMITAGE_COLUMN };
  }
}

export const HERMITAGE_COLUMN = 'value';

export class HermitageTransaction {
  readonly #transaction: Transaction;
  readonly #table: string;
  readonly #tell: (what: string) => void;

  constructor(transaction: Transaction, table: string, tell: (what: string) => void) {
    this.#transaction = transaction;
    this.#table = table;
    this.#tell = tell;
  }

  async get(row: string): Promise<string | undefined> {
    const value = await this.#transaction.get(this.#cell(row));
    const text = value && textOf(value);
    this.#tell(`reads ${row} = ${text ?? 'nothing'}`);
    return text;
  }

  /** A predicate read: the rows with this value. */
  async find(value: string): Promise<readonly string[]> {
    const found = [...(await rowsOf(this.#transaction, this.#table))]
      .filter(([, one]) => one === value)
      .map(([row]) => row);
    this.#tell(`finds ${value} in ${found.length === 0 ? 'no row' : found.join(' and ')}`);
    return found;
  }

  all(): Promise<ReadonlyMap<string, string>> {
    return rowsOf(this.#transaction, this.#table);
  }

  set(values: Readonly<Record<string, string>>): void {
    for (const [row, value] of Object.entries(values)) {
      this.#transaction.set(this.#cell(row), value);
    }
  }

  delete(row: string): void {
    this.#transaction.delete(this.#cell(row));
  }

  lock(row: string, shared: boolean = false): Promise<void> {
    return this.#transaction.lock(this.#cell(row), { shared });
  }

  /** Resolves to whether it has committed, and not met a conflict. */
  async commit(): Promise<boolean> {
    try {
      await this.#transaction.commit();
      this.#tell('commits');
      return true;
    } catch (error) {
      if (!hasCode(error, 'WRITE_CONFLICT')) throw error;
      this.#tell('fails: WRITE_CONFLICT');
      return false;
    }
  }

  discard(): void {
    this.#transaction.discard();
    this.#tell('gives up');
  }

  #cell(row: string) {
    return { table: this.#table, row, column: HERMITAGE_COLUMN };
  }
}

async function rowsOf(
  transaction: Transaction,
  table: string,
): Promise<ReadonlyMap<string, string>> {
  const rows = new Map<string, string>();
  for await (const { row, values } of transaction.scan({ table, columns: [HERMITAGE_COLUMN] })) {
    const value = values.get(HERMITAGE_COLUMN);
    if (value !== undefined) rows.set(row, textOf(value));
  }
  return rows;
}

async function two(scene: HermitageScene): Promise<{
  readonly t1: HermitageTransaction;
  readonly t2: HermitageTransaction;
}> {
  return { t1: await scene.begin('T1'), t2: await scene.begin('T2') };
}

/** Two rows are written by one transaction each: which one committed is no matter. */
const isMixed = (left: string): boolean => left === '1 = 11, 2 = 22' || left === '1 = 12, 2 = 21';

async function writeCycle(scene: HermitageScene): Promise<boolean> {
  const { t1, t2 } = await two(scene);
  t1.set({ 1: '11' });
  t2.set({ 1: '12' });
  t1.set({ 2: '21' });
  await t1.commit();
  t2.set({ 2: '22' });
  await t2.commit();
  return isMixed(await scene.left());
}

async function abortedRead(scene: HermitageScene): Promise<boolean> {
  const { t1, t2 } = await two(scene);
  t1.set({ 1: '101' });
  const before = await t2.get('1');
  t1.discard();
  const after = await t2.get('1');
  await t2.commit();
  return before === '101' || after === '101';
}

async function intermediateRead(scene: HermitageScene): Promise<boolean> {
  const { t1, t2 } = await two(scene);
  t1.set({ 1: '101' });
  const before = await t2.get('1');
  t1.set({ 1: '11' });
  await t1.commit();
  const after = await t2.get('1');
  await t2.commit();
  return before === '101' || after === '101';
}

async function circularFlow(scene: HermitageScene): Promise<boolean> {
  const { t1, t2 } = await two(scene);
  t1.set({ 1: '11' });
  t2.set({ 2: '22' });
  const [of2, of1] = [await t1.get('2'), await t2.get('1')];
  const both = [await t1.commit(), await t2.commit()];
  return of2 === '22' && of1 === '11' && !both.includes(false);
}

async function observedVanishes(scene: HermitageScene): Promise<boolean> {
  const { t1, t2 } = await two(scene);
  t1.set({ 1: '11', 2: '19' });
  t2.set({ 1: '12' });
  await t1.commit();
  const t3 = await scene.begin('T3');
  const first = await t3.get('1');
  t2.set({ 2: '18' });
  const second = await t3.get('2');
  await t2.commit();
  return first !== (await t3.get('1')) || second !== (await t3.get('2')) || second !== '19';
}

async function predicateRead(scene: HermitageScene): Promise<boolean> {
  const { t1, t2 } = await two(scene);
  const before = await t1.find('30');
  t2.set({ 3: '30' });
  await t2.commit();
  const after = await t1.find('30');
  return before.length !== after.length;
}

async function predicateWrite(scene: HermitageScene): Promise<boolean> {
  const { t1, t2 } = await two(scene);
  for (const [row, value] of await t1.all()) t1.set({ [row]: String(Number(value) + 10) });
  for (const row of await t2.find('20')) t2.delete(row);
  await t1.commit();
  const isLate = await t2.commit();
  await scene.left();
  return isLate;
}

async function lostUpdate(scene: HermitageScene): Promise<boolean> {
  const { t1, t2 } = await two(scene);
  await t1.get('1');
  await t2.get('1');
  t1.set({ 1: '11' });
  t2.set({ 1: '12' });
  const both = [await t1.commit(), await t2.commit()];
  await scene.left();
  return !both.includes(false);
}

async function readSkew(scene: HermitageScene): Promise<boolean> {
  const { t1, t2 } = await two(scene);
  await t1.get('1');
  t2.set({ 1: '12', 2: '18' });
  await t2.commit();
  return (await t1.get('2')) === '18';
}

async function predicateSkew(scene: HermitageScene): Promise<boolean> {
  const { t1, t2 } = await two(scene);
  await t1.find('10');
  t2.set({ 1: '12' });
  await t2.commit();
  return (await t1.find('12')).length > 0 || (await t1.find('10')).length === 0;
}

async function skewThroughWrite(scene: HermitageScene): Promise<boolean> {
  const { t1, t2 } = await two(scene);
  await t1.get('1');
  t2.set({ 1: '12', 2: '18' });
  await t2.commit();
  t1.delete('2');
  return t1.commit();
}

/** Each decides by both rows, and writes its own. */
function writeSkew(locks: 'none' | 'alone' | 'shared') {
  return async (scene: HermitageScene): Promise<boolean> => {
    const { t1, t2 } = await two(scene);
    await t1.get('2');
    await t2.get('1');
    if (locks !== 'none') await t1.lock('2', locks === 'shared');
    if (locks !== 'none') await t2.lock('1', locks === 'shared');
    t1.set({ 1: '11' });
    t2.set({ 2: '21' });
    const both = [await t1.commit(), await t2.commit()];
    await scene.left();
    return !both.includes(false);
  };
}

/** Each finds no row with 30, and adds one; row 0 stands for all rows. */
function predicateCycle(locks: boolean) {
  return async (scene: HermitageScene): Promise<boolean> => {
    const { t1, t2 } = await two(scene);
    for (const [one, row] of [
      [t1, '3'],
      [t2, '4'],
    ] as const) {
      if (locks) await one.lock('0');
      await one.find('30');
      one.set({ [row]: '30' });
    }
    const both = [await t1.commit(), await t2.commit()];
    await scene.left();
    return !both.includes(false);
  };
}

/** Fekete, O'Neil and O'Neil 2004: without the reader some order explains it, with it none does. */
function readOnlyAnomaly(locks: boolean) {
  return async (scene: HermitageScene): Promise<boolean> => {
    const { t1, t2 } = await two(scene);
    if (locks) await t1.lock('2');
    await t1.get('1');
    await t1.get('2');
    t2.set({ 2: '25' });
    await t2.commit();
    const t3 = await scene.begin('T3');
    const seen = [await t3.get('1'), await t3.get('2')].join(' ');
    await t3.commit();
    t1.set({ 1: '0' });
    return (await t1.commit()) && seen === '10 25';
  };
}

function prevented(name: string, title: string, run: HermitageTest['run']): HermitageTest {
  return { name, title, isPermitted: false, run };
}

function permitted(name: string, title: string, run: HermitageTest['run']): HermitageTest {
  return { name, title, isPermitted: true, run };
}

export const HERMITAGE: readonly HermitageTest[] = [
  prevented('G0', 'write cycle', writeCycle),
  prevented('G1a', 'aborted read', abortedRead),
  prevented('G1b', 'intermediate read', intermediateRead),
  prevented('G1c', 'circular information flow', circularFlow),
  prevented('OTV', 'observed transaction vanishes', observedVanishes),
  prevented('PMP', 'a predicate finds more the second time', predicateRead),
  prevented('PMP', 'a write that follows a predicate', predicateWrite),
  prevented('P4', 'lost update', lostUpdate),
  prevented('G-single', 'read skew', readSkew),
  prevented('G-single', 'read skew with predicates', predicateSkew),
  prevented('G-single', 'read skew through a write', skewThroughWrite),
  permitted('G2-item', 'write skew', writeSkew('none')),
  prevented('G2-item', 'write skew, with lock()', writeSkew('alone')),
  prevented('G2-item', 'write skew, with shared locks', writeSkew('shared')),
  permitted('G2', 'write skew through a predicate', predicateCycle(false)),
  prevented('G2', 'write skew through a predicate, with lock()', predicateCycle(true)),
  permitted('G2', 'read-only anomaly', readOnlyAnomaly(false)),
  prevented('G2', 'read-only anomaly, with lock()', readOnlyAnomaly(true)),
];
