/** The front door of the changes of a table: changes.ts, and what is made of them. */
export {
  type Change,
  type ChangeEvent,
  changes,
  type ChangesOptions,
  type Resolved,
} from './changes.ts';
export { changeJson, debeziumEnvelope, jsonValue, type JsonValue } from './json.ts';
export { changesResponse, sendChanges } from './server-sent-events.ts';
export { watch, type WatchedValue, type WatchOptions } from './watch.ts';
