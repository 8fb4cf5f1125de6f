/**
 * The rules that have no entry in the gallery, with the reason. A test finds each rule of
 * protocol.md either here or in the gallery, and the reasons there.
 */

const DISK = 'the world keeps its storage in memory, which has no disk that could fail';
const OWNERS = 'the processes of the world share no folder, socket or store with an owner';
const HBASE = 'the world has one storage that answers at once, and no servers or regions';
const OWN_TABLES =
  "what processes ask of the engine's own tables (definitions, leases, identity) is answered at once, so nothing can come in between";
const CHANGES = 'no task of the world reads changes';
const SERVICES = 'the world has no lock service and no second database';
const SHORT_SLEEPS = 'short sleeps end at once in the world, so that a backoff cannot be seen';
const HEARTBEATS = 'the judge would have to tell a withheld heartbeat from one that was never sent';
const UNJUDGED =
  'it can be played, but the judges of the world look at what is left in the end, and this is seen only while it happens';
const NO_RULE = 'no rule: the engine excludes what would need one';
const NO_MUTANT =
  'no mutant: there is no line of the engine without which the rule would be broken';

export const WITHOUT_ENTRY: Readonly<Record<string, string>> = {
  P13: NO_RULE,
  P23: SHORT_SLEEPS,
  P24: HEARTBEATS,
  P25: HEARTBEATS,
  P29: UNJUDGED,
  P32: NO_MUTANT,
  P34: NO_MUTANT,
  P39: NO_RULE,
  P45: UNJUDGED,
  P46: NO_MUTANT,
  P47: 'a run of an old snapshot is repeated, so that nothing is wrong in the end',
  P48: UNJUDGED,
  P49: SERVICES,
  P51: NO_MUTANT,
  P52: OWN_TABLES,
  P53: OWN_TABLES,
  P54: OWN_TABLES,
  P55: OWN_TABLES,
  P56: 'it is about warnings, which the world does not show',
  P58: DISK,
  P61: 'messages of the world overtake one another, so a commit always waits for its notifications',
  P62: OWNERS,
  P63: 'it takes an observer that fails until its cell is parked, and a replay of that cell',
  P64: HBASE,
  P65: HBASE,
  P66: HBASE,
  P67: DISK,
  P68: 'a cycle that a task asks for looks at every row; only a collector in the background does not',
  P69: OWNERS,
  P70: DISK,
  P71: DISK,
  P72: 'it is about warnings, which the world does not show',
  P73: SERVICES,
  P74: OWN_TABLES,
  P75: SERVICES,
  P77: OWNERS,
  P78: DISK,
  P79: 'it is about how long a caller waits, and time in the world stands still until a choice',
  P80: 'it is about how long a reader waits, and time in the world stands still until a choice',
  P81: 'no task of the world closes its database',
  P82: 'it is about a worker that is full, for which one needs more cells than a page can show',
  P83: 'it is about warnings, which the world does not show',
  P84: OWNERS,
  P85: SERVICES,
  P86: 'all processes of the world run one version of the engine',
  P87: CHANGES,
  P88: CHANGES,
  P89: CHANGES,
};

/** The table of protocol.md: each reason once, with its rules. */
export function withoutStory(): readonly { readonly why: string; readonly rules: string }[] {
  const groups = Map.groupBy(Object.entries(WITHOUT_ENTRY), ([, why]) => why);
  return [...groups].map(([why, entries]) => ({
    why,
    rules: entries.map(([rule]) => rule).join(', '),
  }));
}
