/** What was seen of the anomalies on several stores, as tables: one for all that saw the same. */
import type { ObservedAnomaly } from './observe.ts';

export interface ObservedStore {
  /** As in `--store`. */
  readonly store: string;
  readonly anomalies: readonly ObservedAnomaly[];
}

/** Whether each store prevents what snapshot isolation prevents, and permits the rest. */
export function isAsPromised(seen: readonly ObservedStore[]): boolean {
  return seen.every(({ anomalies }) =>
    anomalies.every(({ test, happened }) => happened === test.isPermitted),
  );
}

/** All tables, and how to see the stories. */
export function tablesOf(seen: readonly ObservedStore[]): string {
  const groups = Map.groupBy(seen, ({ anomalies }) => rowsOf(anomalies).join('\n'));
  const tables = [...groups].map(([table, stores]) => {
    const names = stores.map(({ store }) => store).join(', ');
    return `On ${names}:\n\n${table}\n`;
  });
  const stories = 'Each story: ./run.sh explore --link <its name>, such as write-skew.';
  return `${tables.join('\n')}\n${stories}\n${verdictOn(seen, groups.size)}\n`;
}

function verdictOn(seen: readonly ObservedStore[], tables: number): string {
  if (!isAsPromised(seen)) return 'Not as snapshot isolation promises: see "!!" above.';
  return tables > 1
    ? 'As snapshot isolation promises, though not the same everywhere.'
    : 'As snapshot isolation promises: only anomalies of the kind G2, and none of them with lock().';
}

/** Two lines for each: what it is, and what was seen. */
export function rowsOf(anomalies: readonly ObservedAnomaly[]): readonly string[] {
  return anomalies.flatMap(({ test: { name, title, isPermitted }, happened, told, story }) => {
    const outcome = `${happened ? 'possible' : 'prevented'}${happened === isPermitted ? '' : ' !!'}`;
    const head = [name.padEnd(9), title.padEnd(43), outcome.padEnd(10), story];
    return [`  ${head.join(' ')}`, `  ${' '.repeat(9)} ${told.join('; ')}`];
  });
}
