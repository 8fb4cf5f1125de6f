/** What others do about a lock that they meet, and how they tell whose it is. */
import type { GalleryEntry } from './entry.ts';

export const RESOLVING: readonly GalleryEntry[] = [
  {
    name: 'primary-not-found',
    title: 'A lock whose primary is not there yet',
    rule: 'P2',
    scenario: 'transfer',
    mutant: 'absent-primary-is-rolled-back',
    convicted: 'snapshot isolation: half committed',
    parts: [
      {
        says: "Without the rule the writer locks Joe's account first. The lock points to a primary, Bob's account, that is not locked yet.",
        choices: 's0f0f0f0f0',
      },
      {
        says: 'The others presume the writer dead. A reader finds nothing at the primary, takes that for a rollback, and erases the lock of Joe. It leaves no trace at the primary.',
        choices: 'b0s1f1f1f1f1',
      },
      {
        says: "The writer is alive. Nothing stops it at the primary: it locks Bob's account and commits. Bob has paid $7 that Joe never gets.",
        choices: 'f0f0f0',
      },
    ],
  },
  {
    name: 'dead-or-not-check-then-act',
    title: 'Check first, act later',
    rule: 'P27',
    scenario: 'transfer',
    mutant: 'check-then-act-clean-up',
    convicted: 'snapshot isolation: half committed',
    parts: [
      {
        says: 'The writer holds its locks, and its commit is on the way. The others presume it dead.',
        choices: 's0f0f0f0f0f0f0b0',
      },
      {
        says: "A reader meets Joe's lock, looks at the primary, and finds it locked by a dead process. It decides to roll it back.",
        choices: 's1f1f1f1',
      },
      {
        says: 'Between the look and the act, the commit arrives: the transaction has happened.',
        choices: 'f0',
      },
      {
        says: "The reader's rollback finds no lock at the primary. Without the rule it does not look again, and rolls Joe's half back.",
        choices: 'f1f1',
      },
    ],
  },
  {
    name: 'primary-without-table',
    title: 'A primary in another table',
    rule: 'P15',
    scenario: 'two-tables',
    mutant: 'primary-without-table',
    convicted: 'snapshot isolation: half committed',
    parts: [
      {
        says: "The writer moves $7 from Bob's current account to Joe's savings, and commits the primary: the row of Bob in the table of current accounts.",
        choices: 's0f0f0f0f0f0',
      },
      { says: "It dies. Joe's lock is left in the other table.", choices: 'c0' },
      {
        says: 'A reader meets that lock. Without the rule a lock names its primary by row and column only, so the reader looks for Bob among the savings, and finds nothing.',
        choices: 's1f1f1f1',
      },
      {
        says: 'It concludes that the transaction never locked its primary, and rolls back half of what was committed.',
        choices: 'f1f1f1f1f1',
      },
    ],
  },
  {
    name: 'data-of-the-rolled-back',
    title: 'Data that was never committed',
    rule: 'P33',
    scenario: 'transfer',
    mutant: 'aborted-data-stays',
    convicted: 'audit: data-without-record',
    parts: [
      { says: 'The writer has locked both accounts, and dies.', choices: 's0f0f0f0f0f0c0' },
      {
        says: 'A reader rolls it back. Without the rule it erases the locks, and leaves the new values: no record will ever point to them, and no collector knows whose they are.',
        choices: 's1f1f1f1f1f1f1f1f1',
      },
    ],
  },
  {
    name: 'rollbacks-among-records',
    title: 'A rollback that looks like a write',
    rule: 'P5',
    scenario: 'transfer',
    mutant: 'markers-among-records',
    convicted: 'snapshot isolation: stale read',
    parts: [
      { says: 'The writer has locked both accounts, and dies.', choices: 's0f0f0f0f0f0c0' },
      {
        says: 'A reader rolls it back, and leaves rollback records. Without the rule they are in the column of the write records.',
        choices: 's1f1f1f1f1f1f1',
      },
      {
        says: 'So every reader takes them for writes, which they are not. Both accounts seem to be deleted: the money is gone.',
        choices: 'f1f1',
      },
    ],
  },
  {
    name: 'late-second-phase',
    title: 'The second phase comes late',
    rule: 'P9',
    scenario: 'transfer',
    mutant: 'blind-erase',
    convicted: 'snapshot isolation: half committed',
    parts: [
      {
        says: "The writer has committed. The message that replaces Joe's lock is still on its way.",
        choices: 's0f0f0f0f0f0f0f0',
      },
      { says: 'A reader meets the lock and replaces it in its stead.', choices: 's1f1f1f1f1f1f1' },
      {
        says: 'The writer begins its next transfer, and locks both accounts again.',
        choices: 's0d14d15d16d17d18',
      },
      {
        says: "Now the late message arrives. Without the rule it erases whatever lock is there: Joe's new one.",
        choices: 'd7d19',
      },
      {
        says: "A reader finds no lock at Joe's account, and reads the old value. The transfer commits, at a timestamp that this reader should have seen, and has half of it.",
        choices: 's1f1f1d20f1',
      },
    ],
  },
  {
    name: 'same-address',
    title: "Another transaction's lock at the primary",
    rule: 'P3',
    scenario: 'crossed',
    mutant: 'lock-told-by-address',
    convicted: 'progress: stuck',
    parts: [
      {
        says: "A and B have read both accounts. A's transfer has Bob for its primary, and B's has Joe.",
        choices: 's0f0f0f0s1f1f1f1',
      },
      {
        says: 'Each locks the other one first, which the engine as it is never does. So each primary has a lock, but of the other transaction. B dies.',
        choices: 'f0f1c1',
      },
      {
        says: "A reader meets A's lock of Joe, and looks at the primary. Without the rule it takes the lock that it finds there for A's.",
        choices: 's2f2f2f2',
      },
      {
        says: 'Its owner is dead, so the reader rolls A back at the primary, where A has no lock. It looks again, and finds the same. It never ends, and no other reader of these accounts does, either.',
        choices: 'f2f2f2f2',
      },
    ],
  },
  {
    name: 'remembered-sight',
    title: 'A lock that is remembered',
    rule: 'P28',
    scenario: 'transfer',
    mutant: 'sight-of-lock-remembered',
    convicted: 'progress: no end',
    parts: [
      { says: 'The writer has locked both accounts.', choices: 's0f0f0f0f0f0' },
      {
        says: "A reader meets Joe's lock, looks at the primary, and finds it locked by a living process. So it waits. Without the rule it also remembers what it has seen.",
        choices: 's1f1f1f1',
      },
      {
        says: "The writer commits, and dies before it has replaced Joe's lock.",
        choices: 'f0f0c0',
      },
      {
        says: "The reader looks at Joe's account again. It need not ask the primary, it believes: that is locked, and its owner is dead now. It tries to roll it back, over and over, and finds no lock. It never learns that the transaction has committed.",
        choices: 'f1f1f1f1',
      },
    ],
  },
];
