/** Figure 4 of the paper, crashes in the middle of it, and the races of prewrite and commit. */
import type { GalleryEntry } from './entry.ts';

export const COMMITTING: readonly GalleryEntry[] = [
  {
    name: 'figure-4',
    title: 'Figure 4: $7 from Bob to Joe',
    scenario: 'transfer',
    parts: [
      {
        says: 'A transfer touches two rows, which no storage changes together. The writer asks the oracle for its start timestamp, and reads both accounts as of then.',
        choices: 's0f0f0f0',
      },
      {
        says: "Prewrite: in each row, the new value and a lock, in one mutation. Bob's lock is the primary. Joe's only points to it, so that one cell decides for both.",
        choices: 'f0f0',
      },
      {
        says: 'All locks are held, and only now is the commit timestamp asked for. Every reader that starts later meets the locks.',
        choices: 'f0',
      },
      {
        says: "The commit point: the primary's lock becomes a write record, in one row mutation. From here on the transaction has happened, whatever dies.",
        choices: 'f0',
      },
      { says: "Joe's lock is replaced in the background. No caller waits for it.", choices: 'f0' },
      {
        says: 'A reader that comes now finds $9 and $3: the sum is still $12.',
        choices: 's1f1f1f1',
      },
    ],
  },
  {
    name: 'crash-before-commit',
    title: 'A writer dies before the commit point',
    scenario: 'transfer',
    parts: [
      {
        says: 'The writer reads both accounts, locks both, and asks for its commit timestamp.',
        choices: 's0f0f0f0f0f0f0',
      },
      {
        says: 'It dies. The commit of the primary is still in flight, and may arrive, or not.',
        choices: 'c0',
      },
      {
        says: "A reader meets Joe's lock. It does not wait: it asks the lock's primary.",
        choices: 's1f1f1f1',
      },
      {
        says: 'The primary is still locked and its owner is dead, so the reader rolls the transaction back: first the primary, then the rest. It reads $2 and $10.',
        choices: 'f1f1f1f1f1',
      },
      {
        says: 'Now the late commit arrives after all. It finds no lock, and changes nothing.',
        choices: 'd6',
      },
    ],
  },
  {
    name: 'crash-after-commit',
    title: 'A writer dies after the commit point',
    scenario: 'transfer',
    parts: [
      {
        says: 'The writer has committed the primary, and its caller knows.',
        choices: 's0f0f0f0f0f0f0f0',
      },
      { says: "It dies before Joe's lock is replaced.", choices: 'c0' },
      {
        says: "A reader meets Joe's lock, and finds a write record at its primary: the transaction has happened. So it rolls it forward, and reads $9.",
        choices: 's1f1f1f1f1f1f1',
      },
    ],
  },
  {
    name: 'late-prewrite-copy',
    title: 'A late copy of a prewrite',
    rule: 'P1',
    scenario: 'transfer',
    mutant: 'prewrite-ignores-marker',
    convicted: 'snapshot isolation: half committed',
    parts: [
      {
        says: 'The writer has locked both accounts. It is slow, not dead.',
        choices: 's0f0f0f0f0f0',
      },
      {
        says: 'The others presume it dead. A reader meets its locks, and rolls both back. The rollback records that it leaves are to keep the transaction from coming back.',
        choices: 'b0s1f1f1f1f1f1f1',
      },
      {
        says: "The network delivers the prewrite of Bob's row once more. Without the rule the rollback record stops nothing, and Bob's account is locked again.",
        choices: 'k3',
      },
      {
        says: "The writer goes on. It finds its lock at the primary, and commits: Bob has paid $7, and Joe's half has been rolled back.",
        choices: 'f0f0f0',
      },
    ],
  },
  {
    name: 'early-commit-timestamp',
    title: 'The commit timestamp comes too early',
    rule: 'P10',
    scenario: 'transfer',
    mutant: 'commit-timestamp-too-early',
    convicted: 'snapshot isolation: stale read',
    parts: [
      {
        says: 'Without the rule the writer asks for its commit timestamp before it holds any lock.',
        choices: 's0f0f0f0f0',
      },
      {
        says: 'A reader starts now, later than that timestamp. It meets no lock, and reads the old values.',
        choices: 's1f1f1f1',
      },
      {
        says: 'The writer locks and commits, at a timestamp below the reader. What the reader was told is wrong: its snapshot should have had the new values.',
        choices: 'f0f0f0f0',
      },
    ],
  },
  {
    name: 'lost-commit-answer',
    title: 'The answer to the commit is lost',
    rule: 'P11',
    scenario: 'transfer',
    mutant: 'clean-up-after-lost-answer',
    convicted: 'snapshot isolation: failed yet visible',
    parts: [
      {
        says: 'All locks are held; the commit of the primary is on its way.',
        choices: 's0f0f0f0f0f0f0',
      },
      {
        says: 'It arrives and is applied, but its answer is lost. The writer knows nothing: has it committed?',
        choices: 'a6',
      },
      {
        says: 'Without the rule it takes silence for failure, cleans up, and tells its caller so. But the money has moved, and the data is gone.',
        choices: 'f0',
      },
    ],
  },
  {
    name: 'prewrite-after-commit',
    title: 'First committer wins',
    rule: 'P14',
    scenario: 'wages',
    mutant: 'no-write-check',
    convicted: 'snapshot isolation: overlapping writers',
    parts: [
      { says: 'B starts to pay Bob $5: it has its start timestamp.', choices: 's1f1' },
      { says: 'A starts later, pays Bob $3, and commits.', choices: 's0f0f0f0f0f0' },
      {
        says: 'B reads Bob as of its start, $10, and prewrites $15. Without the rule no process looks for a newer write record.',
        choices: 'f1f1',
      },
      { says: "B commits, and A's $3 are lost.", choices: 'f1f1' },
    ],
  },
  {
    name: 'locks-that-matter',
    title: 'A writer overlooks a lock',
    rule: 'P19',
    scenario: 'wages',
    mutant: 'writer-ignores-newer-locks',
    convicted: 'snapshot isolation: overlapping writers',
    parts: [
      { says: 'A and B both read that Bob has $10. B is the older one.', choices: 's1f1s0f0f0f1' },
      { says: 'A locks the account.', choices: 'f0' },
      {
        says: "B comes. Without the rule a writer looks only for locks up to its own start, and A's lock is newer. So B locks the account, too.",
        choices: 'f1',
      },
      { says: 'Both commit. One of the two payments is lost.', choices: 'f0f1f0f1' },
    ],
  },
  {
    name: 'presumed-dead-alive',
    title: 'Presumed dead, alive',
    rule: 'P26',
    scenario: 'transfer',
    mutant: 'commit-without-lock',
    convicted: 'snapshot isolation: committed and rolled back',
    parts: [
      { says: 'The writer holds all its locks. It is slow.', choices: 's0f0f0f0f0f0f0' },
      {
        says: 'The others presume it dead, and a reader rolls its transaction back.',
        choices: 'b0s1f1f1f1f1f1f1',
      },
      {
        says: 'It is alive. Without the rule its commit does not ask whether its lock is still there: half of a transaction that was rolled back is committed.',
        choices: 'f0f0',
      },
    ],
  },
  {
    name: 'writer-over-shared-locks',
    title: 'A writer overlooks shared locks',
    rule: 'P90',
    scenario: 'shared-limit',
    mutant: 'writer-passes-over-shared-locks',
    convicted: 'snapshot isolation: overlapping writers',
    parts: [
      {
        says: 'No customer may draw more than the limit of $40. The manager reads that nothing has been drawn, and wants to lower it to $20.',
        choices: 's2f2f2f2f2',
      },
      {
        says: 'Ann and Ben read the limit, too. Each wants to draw $30, and locks the limit on which that depends. They share the lock, so neither is in the way of the other.',
        choices: 's0f0f0f0s1f1f1f1f0f0f1f1',
      },
      {
        says: 'The manager comes to write the limit. Without the rule a writer looks for the lock of another writer only, finds none, and commits: the limit is $20.',
        choices: 'f2f2f2',
      },
      {
        says: 'Ann and Ben commit, and both have drawn more than the limit. With the rule the manager meets their locks, and loses.',
        choices: 'f0f0f0f1f1f1',
      },
    ],
  },
  {
    name: 'shared-lock-too-late',
    title: 'A shared lock on what has changed',
    rule: 'P91',
    scenario: 'shared-limit',
    mutant: 'shared-lock-over-a-newer-write',
    convicted: 'snapshot isolation: overlapping writers',
    parts: [
      {
        says: 'Ann reads that the limit is $40, and is about to draw $30.',
        choices: 's0f0f0f0',
      },
      {
        says: 'Nothing has been drawn yet, so the manager lowers the limit to $20, and commits.',
        choices: 's2f2f2f2f2f2f2f2',
      },
      {
        says: 'Ann shares the lock of the limit. Without the rule only the lock of a writer would stop her, and the manager holds none any more.',
        choices: 'f0f0',
      },
      {
        says: 'Ann commits: she has drawn $30 by a limit that was no longer there. With the rule her prewrite finds the newer write record, and she has lost.',
        choices: 'f0f0f0',
      },
    ],
  },
];
