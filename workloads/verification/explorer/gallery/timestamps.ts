/** Where timestamps come from: ranges that processes take in the storage. */
import type { GalleryEntry } from './entry.ts';

export const TIMESTAMPS: readonly GalleryEntry[] = [
  {
    name: 'range-is-lost',
    title: 'Who hands out timestamps dies',
    scenario: 'own-ranges',
    parts: [
      {
        says: 'Here each process is its own oracle, as the processes are that share a folder. A begins: it reads the limit of all ranges in the storage, and takes the next range with a conditional mutation.',
        choices: 's0f0f0',
      },
      {
        says: 'It pays Bob $3. Before each timestamp it reads whether its range is still the newest.',
        choices: 'f0f0f0f0',
      },
      {
        says: 'B begins, too. It takes the next range, and dies with the rest of it.',
        choices: 's1f1f1c1',
      },
      {
        says: 'It starts again under a new name, and takes a range above all others. The rest of the old one is never handed out: timestamps jump forward, and never back.',
        choices: 'r1s1f1f1f1f1f1',
      },
    ],
  },
  {
    name: 'two-oracles',
    title: 'Two oracles, each with its range',
    rule: 'P35',
    scenario: 'own-ranges',
    mutant: 'oracle-trusts-its-range',
    convicted: 'snapshot isolation: real time',
    parts: [
      {
        says: 'A has taken a range of timestamps, and B one above it. B pays Bob $5, and tells its caller.',
        choices: 's1f1f1f1',
      },
      {
        says: 'Then A begins. Without the rule it does not look whether another process has taken a newer range, and hands out a timestamp of its own, which is below the commit of B.',
        choices: 's0',
      },
      {
        says: 'So it begins in the past: it reads $10, although the caller of B knows of $15. Had it been a reader, it would have told its own caller so.',
        choices: 'f0',
      },
    ],
  },
  {
    name: 'range-not-persisted',
    title: 'A range that is not written yet',
    rule: 'P36',
    scenario: 'own-ranges',
    mutant: 'range-handed-out-before-persisted',
    convicted: 'snapshot isolation: read of an uncommitted value',
    parts: [
      {
        says: 'A and B both read the limit of all ranges. Without the rule each hands out of the next range while the mutation that takes it is still on its way: both begin at 22.',
        choices: 's0s1f0f1',
      },
      {
        says: 'Both mutations arrive, and one of them is refused. That is too late. Both read that Bob has $10.',
        choices: 'f0f1f0f1',
      },
      {
        says: 'A locks the account at 22. B finds it locked, looks whose lock it is, and finds its own: a transaction is known by its start timestamp.',
        choices: 'f0f1f0f1',
      },
      {
        says: 'A commits $13. B finds its lock gone, and a write record of 22: it takes that for its own commit.',
        choices: 'f0f1',
      },
    ],
  },
  {
    name: 'timestamp-twice',
    title: 'One timestamp, two transactions',
    rule: 'P37',
    scenario: 'own-ranges',
    mutant: 'timestamp-handed-out-twice',
    convicted: 'snapshot isolation: timestamp handed out twice',
    parts: [
      { says: 'A reader takes a snapshot, and reads the account.', choices: 's2f2f2' },
      {
        says: 'It takes another one. Without the rule the last timestamp of one request is the first of the next, so both have the same. If B committed in between, the second one could not be told from the first, which must not see it.',
        choices: 's2f2f2',
      },
    ],
  },
];
