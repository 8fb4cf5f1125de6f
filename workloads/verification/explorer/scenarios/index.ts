/** All scenarios, in the order of the menu. */
import type { ExplorerScenario } from '../scenario.ts';
import { HERMITAGE_SCENARIOS } from './anomalies.ts';
import { CRAWL } from './crawl.ts';
import { GARBAGE, DEAD_WRITER } from './garbage.ts';
import { COLONS, TWO_COLUMNS, WEAK } from './observers.ts';
import { JOINED_NAMES, ONE_ROW, REUSED_BYTES, TWO_TABLES } from './places.ts';
import { LOCKED_OVERDRAFT, LOCKED_WARD, OVERDRAFT, SHARED_LIMIT, WARD } from './skew.ts';
import { SMALL } from './small.ts';
import {
  BLIND,
  BLIND_AFTER_DEATH,
  CROSSED,
  LARGE_TIMESTAMPS,
  OWN_RANGES,
  THREE_ROWS,
  TRANSFER,
  WAGES,
} from './transfer.ts';

export const SCENARIOS: readonly ExplorerScenario[] = [
  TRANSFER,
  WAGES,
  CROSSED,
  BLIND,
  BLIND_AFTER_DEATH,
  LARGE_TIMESTAMPS,
  OWN_RANGES,
  THREE_ROWS,
  WARD,
  LOCKED_WARD,
  OVERDRAFT,
  LOCKED_OVERDRAFT,
  SHARED_LIMIT,
  ...HERMITAGE_SCENARIOS,
  CRAWL,
  GARBAGE,
  DEAD_WRITER,
  ONE_ROW,
  TWO_TABLES,
  JOINED_NAMES,
  REUSED_BYTES,
  TWO_COLUMNS,
  WEAK,
  COLONS,
  ...SMALL,
];
