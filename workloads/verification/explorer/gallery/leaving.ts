/** What a transaction leaves when it ends, for those that come after it. */
import type { GalleryEntry } from './entry.ts';

export const LEAVING: readonly GalleryEntry[] = [
  {
    name: 'foreign-rollback-record',
    title: "Another transaction's rollback record",
    rule: 'P6',
    scenario: 'wages',
    mutant: 'foreign-marker-conflicts',
    convicted: 'conflicts: groundless',
    parts: [
      { says: 'B starts to pay Bob, and is slow.', choices: 's1f1' },
      {
        says: 'A starts later, locks the account, and dies. A reader rolls it back, and leaves its rollback record.',
        choices: 's0f0f0f0c0s2f2f2f2f2f2f2f2',
      },
      {
        says: 'B comes to lock the account. No process has written it. But without the rule B takes the rollback record of A for a conflict, and gives up for no reason.',
        choices: 'f1f1f1f1',
      },
    ],
  },
  {
    name: 'unanswered-prewrites-stay',
    title: 'A loser leaves a lock',
    rule: 'P7',
    scenario: 'three-rows',
    mutant: 'roll-back-primary-only',
    convicted: 'debris: lock left',
    parts: [
      {
        says: "Another process has its start timestamp, and will write Joe's account.",
        choices: 's1f1',
      },
      {
        says: "The writer locks Ann's account, its primary. Then the other one locks Joe's.",
        choices: 's0f0f0f1',
      },
      {
        says: "The writer gets the lock of Bob, and meets the other one's lock at Joe: it has lost.",
        choices: 'f0f0',
      },
      {
        says: "It cleans up and tells its caller. Without the rule it rolls back the primary only. Bob's lock stays, and the next one who reads Bob has to find out whose it was.",
        choices: 'f0f0f0f1f1',
      },
    ],
  },
  {
    name: 'rollback-without-trace',
    title: 'A loser leaves no trace',
    rule: 'P8',
    scenario: 'three-rows',
    mutant: 'own-roll-back-without-marker',
    convicted: 'debris: no trace',
    parts: [
      {
        says: "The writer holds the lock of Ann, its primary. Another process has locked Joe's account before it.",
        choices: 's1f1s0f0f0f1',
      },
      { says: 'The writer meets that lock, and has lost.', choices: 'f0f0' },
      {
        says: 'It rolls itself back. Without the rule it only erases: nothing at its primary tells how it ended, and a late copy of its prewrite would lock the account again.',
        choices: 'f0f0f0f1f1',
      },
    ],
  },
  {
    name: 'one-row-many-cells',
    title: 'Half of a row is committed',
    rule: 'P16',
    scenario: 'one-row',
    mutant: 'row-of-primary-left-locked',
    convicted: 'debris: lock left',
    parts: [
      {
        says: 'The writer locks two cells of one row, in one mutation: a balance and a note.',
        choices: 's0f0f0f0',
      },
      {
        says: 'It commits. Without the rule only the primary is committed, and the note next to it stays locked, although one mutation could have done both.',
        choices: 'f0',
      },
    ],
  },
  {
    name: 'blind-writer-starves',
    title: 'A writer that meets a dead lock',
    rule: 'P21',
    scenario: 'blind-after-death',
    mutant: 'blind-writer-never-cleans-up',
    convicted: 'progress: blind writer starves',
    parts: [
      { says: 'The first writer locks the account of Bob, and dies.', choices: 's0f0f0c0' },
      {
        says: 'The second one reads nothing, so it never waits for a lock. It meets the dead one in its prewrite, and loses.',
        choices: 's1f1f1',
      },
      {
        says: 'Without the rule it leaves the lock where it is. It may try as often as it likes: it loses each time, and so does every other writer.',
        choices: 'f1f1',
      },
    ],
  },
  {
    name: 'large-timestamps',
    title: 'A digit is lost',
    rule: 'P38',
    scenario: 'large-timestamps',
    mutant: 'fifteen-digits',
    convicted: 'audit: record-undecodable',
    parts: [
      {
        says: 'In an old database timestamps have sixteen digits. The writer reads, locks, and asks for its commit timestamp.',
        choices: 's0f0f0f0f0f0f0',
      },
      {
        says: 'It commits. Without the rule a write record has room for fifteen digits only: what it says points to nothing, and the balance of Bob cannot be read any more.',
        choices: 'f0',
      },
    ],
  },
  {
    name: 'suspended-machine',
    title: 'The machine was suspended',
    rule: 'P59',
    scenario: 'garbage',
    mutant: 'lease-of-a-suspended-process',
    convicted: 'snapshot isolation: stale read',
    parts: [
      {
        says: 'A reader takes a snapshot. As long as it renews its lease, collectors keep what the snapshot sees.',
        choices: 's1f1',
      },
      { says: 'A writer overwrites both accounts.', choices: 's0f0f0f0f0f0f0' },
      {
        says: "The lid of the reader's machine is closed. One of its clocks stands still.",
        choices: 'z1',
      },
      {
        says: 'The lease is not renewed, so a collector gives it up. It moves the horizon, waits, and deletes the old versions.',
        choices: 's2f2f2t130000f0f2f2f2f2t130000f0f2f2f2f2f2',
      },
      {
        says: 'The machine wakes up. Without the rule the reader asks only the clock that stood still: no time has passed, so it trusts its lease, and reads nothing where there was money.',
        choices: 'u1f1f1',
      },
    ],
  },
  {
    name: 'waiting-with-locks',
    title: 'Each waits for the other',
    rule: 'P22',
    scenario: 'crossed',
    mutant: 'prewrite-waits',
    convicted: 'progress: no end',
    parts: [
      {
        says: 'A moves money from Bob to Joe, and B from Joe to Bob. Both have read both accounts.',
        choices: 's0f0f0f0s1f1f1f1',
      },
      { says: 'A locks Bob, and B locks Joe.', choices: 'f0f1' },
      {
        says: "Each needs the other one's account. Without the rule a writer that meets a lock waits for it, and holds its own meanwhile.",
        choices: 'f0f1',
      },
      {
        says: 'They ask again and again. No process has died, no message is lost, and neither of them will ever get its lock.',
        choices: 'f0f1f0f1',
      },
    ],
  },
];
