/** The front door of the changes of a table: feeds.ts, and what is made of them. */
export type { CellsOptions, TableCell } from './cells.ts';
export type { Change, ChangeEvent, ChangesOptions, Resolved } from './changes.ts';
export { type Feeds, FeedsOfContext } from './feeds.ts';
export { bytesOfJson, changeJson, debeziumEnvelope, jsonValue, type JsonValue } from './json.ts';
export { decodeCursor } from './place.ts';
export { changesResponse, RESOLVED_MS, sendChanges } from './server-sent-events.ts';
export type { WatchedValue, WatchOptions } from './watch.ts';
