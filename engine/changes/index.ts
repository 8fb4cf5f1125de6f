/** The front door of the changes of a table: `changes.ts`, and what is made of them. */
export {
  type Change,
  type ChangeEvent,
  changes,
  type ChangesOptions,
  type Resolved,
} from './changes.ts';
