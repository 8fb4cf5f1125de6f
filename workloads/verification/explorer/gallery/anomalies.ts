/**
 * The anomalies of the textbooks: what snapshot isolation prevents, and what it permits.
 * `./run.sh anomalies` names the story of each (workloads/verification/anomalies).
 */
import type { GalleryEntry } from './entry.ts';

export const ANOMALIES: readonly GalleryEntry[] = [
  {
    name: 'lost-update-prevented',
    title: 'Anomaly: a lost update, prevented',
    scenario: 'wages',
    parts: [
      {
        says: 'Two processes pay into one account. Each reads $10 in a snapshot of its own, and knows nothing of the other.',
        choices: 's0f0f0s1f1f1',
      },
      { says: 'A locks the account, and commits: there are $13 in it now.', choices: 'f0f0f0' },
      {
        says: "B would write $15, and A's $3 would be lost. But its prewrite finds a write record that is newer than its snapshot: B has lost, cleans up, and tells its caller.",
        choices: 'f1f1f1',
      },
      {
        says: 'Its caller tries again. A new transaction reads $13, and commits $18. Both payments are there.',
        choices: 's1f1f1f1f1f1',
      },
    ],
  },
  {
    name: 'write-skew',
    title: 'Anomaly: write skew, which snapshot isolation permits',
    scenario: 'ward',
    parts: [
      {
        says: 'One of two doctors must stay on call. Ann wants to go home, and reads who is on call: both.',
        choices: 's0f0f0f0',
      },
      { says: 'Ben wants to go home, too, and reads the same: both.', choices: 's1f1f1f1' },
      {
        says: 'Each writes only its own row, so there is no conflict. Ann goes home.',
        choices: 'f0f0f0',
      },
      {
        says: 'And so does Ben. No doctor is on call, though each of them was careful. The judge finds nothing: snapshot isolation promises no more than this.',
        choices: 'f1f1f1',
      },
    ],
  },
  {
    name: 'write-skew-closed',
    title: 'Anomaly: write skew, closed with lock()',
    scenario: 'locked-ward',
    parts: [
      {
        says: "The same ward. But here each doctor locks the other one's cell, on which the decision depends. Both read that two are on call.",
        choices: 's0f0f0f0s1f1f1f1',
      },
      {
        says: "Ann locks Ben's cell and her own, and commits. At Ben's cell stays a record: nothing was changed, but Ann relied on it.",
        choices: 'f0f0f0f0f0',
      },
      {
        says: "Ben comes to lock the same cells, and finds that they have changed since the snapshot. Ben's transaction has lost, and takes back what it has sent.",
        choices: 'f1f1f1f1f1f1',
      },
      {
        says: 'Ben tries again, reads that no other doctor is on call, and stays.',
        choices: 's1f1f1f1',
      },
    ],
  },
  {
    name: 'read-only-anomaly',
    title: 'Anomaly: a reader sees what no order gives',
    scenario: 'overdraft',
    parts: [
      {
        says: 'Both accounts are empty. One draws $10 from checking. With less than $0 in all there is a fee of $1, and so it looks to this transaction.',
        choices: 's0f0f0f0',
      },
      {
        says: 'Meanwhile another one pays $20 into savings, and commits.',
        choices: 's1f1f1f1f1f1',
      },
      {
        says: 'A reader sees $0 and $20: the payment has come first. So there are $20 in all, and a process that draws $10 now pays no fee.',
        choices: 's2f2f2f2',
      },
      {
        says: 'The first one commits all the same, with the fee: $-11. Either order of the two writers would be fine. But only without the reader, who writes nothing: with it, no order of the three explains what was seen.',
        choices: 'f0f0f0',
      },
    ],
  },
  {
    name: 'write-cycle-prevented',
    title: 'Anomaly G0: a write cycle, prevented',
    scenario: 'two-writers',
    parts: [
      {
        says: 'Two transactions write the same two rows. If each were the last one in one row, the rows would not belong together. Both begin.',
        choices: 's0f0s1f1',
      },
      { says: 'T1 locks both rows.', choices: 'f0f0' },
      {
        says: 'T2 comes to lock the same rows, finds them locked, and gives up at once. It does not wait, and holds nothing.',
        choices: 'f1f1f1f1f1f1f1f1',
      },
      { says: 'T1 commits. Both rows are its own.', choices: 'f0f0f0s2f2f2f2' },
    ],
  },
  {
    name: 'intermediate-read-prevented',
    title: 'Anomaly G1b: an intermediate read, prevented',
    scenario: 'intermediate',
    parts: [
      {
        says: 'T1 sets row 1 to 101, and will change its mind. Nothing of that is in the storage: writes are only remembered until the commit.',
        choices: 's0f0',
      },
      { says: 'T2 reads row 1 twice, and finds 10 each time.', choices: 's1f1f1' },
      {
        says: 'T1 sets row 1 to 11, and commits. Only the last value was ever sent.',
        choices: 'f0f0f0f0',
      },
    ],
  },
  {
    name: 'circular-flow-prevented',
    title: 'Anomaly G1c: information in a circle, prevented',
    scenario: 'circle',
    parts: [
      {
        says: 'T1 writes row 1 and reads row 2; T2 writes row 2 and reads row 1. Each must not see what the other one writes. Both begin.',
        choices: 's0f0s1f1',
      },
      {
        says: 'Each reads as of its start: the old values, because nothing that is not committed is read.',
        choices: 'f0f1',
      },
      { says: 'Both commit. At most one could have seen the other one.', choices: 'f0f0f0f1f1f1' },
    ],
  },
  {
    name: 'vanishing-prevented',
    title: 'Anomaly OTV: what was seen does not vanish',
    scenario: 'two-writers',
    parts: [
      {
        says: 'T1 and T2 write the same two rows. T1 commits its primary, row 1. The lock of row 2 is still there.',
        choices: 's0f0s1f1f0f0f0f0',
      },
      { says: 'T3 begins, and sees that row 1 is 11: T1 has happened.', choices: 's2f2f2' },
      {
        says: 'T2 comes with other values for both rows. It finds a record that is newer than its snapshot, and loses.',
        choices: 'f1f1f1',
      },
      {
        says: 'T3 reads row 2, and meets the lock of T1. Its primary tells that T1 has committed, so T3 completes it, and reads 21. Of T1 it sees all, or nothing.',
        choices: 'f2f2f2f2',
      },
    ],
  },
  {
    name: 'predicate-read-prevented',
    title: 'Anomaly PMP: a phantom, prevented',
    scenario: 'predicate',
    parts: [
      { says: 'T1 looks for rows with 30, and finds none.', choices: 's0f0f0' },
      { says: 'T2 adds such a row, and commits.', choices: 's1f1f1f1f1' },
      {
        says: "T1 looks again. The new row's record is newer than its snapshot, so the scan finds what it found before: none.",
        choices: 'f0',
      },
    ],
  },
  {
    name: 'predicate-write-prevented',
    title: 'Anomaly PMP: a write that follows a predicate',
    scenario: 'predicate-write',
    parts: [
      {
        says: 'T1 reads both rows, and will add 10 to each. T2 looks for rows with 20, and finds row 2: it will delete it.',
        choices: 's0f0f0f0s1f1f1',
      },
      { says: 'T1 commits. Now row 1 has 20, and row 2 has 30.', choices: 'f0f0f0f0f0' },
      {
        says: 'T2 would delete a row that no longer has 20, and keep one that has. It finds a newer record, and loses.',
        choices: 'f1f1f1',
      },
    ],
  },
  {
    name: 'read-skew-prevented',
    title: 'Anomaly G-single: read skew, prevented',
    scenario: 'two-writers',
    parts: [
      { says: 'T3 reads row 1: 10.', choices: 's2f2f2' },
      { says: 'T1 writes both rows, and commits.', choices: 's0f0f0f0f0f0f0' },
      {
        says: 'T3 reads row 2. The newest value is 21, but its snapshot is older: 20, which belongs to the 10 that it has seen.',
        choices: 'f2',
      },
    ],
  },
  {
    name: 'predicate-skew',
    title: 'Anomaly G2: write skew through a predicate',
    scenario: 'predicate-skew',
    parts: [
      {
        says: 'There may be one row with 30. T1 and T2 both look for it, and find none.',
        choices: 's0f0f0s1f1f1',
      },
      { says: 'T1 adds row 3, and commits.', choices: 'f0f0f0' },
      {
        says: 'T2 adds row 4. It writes another row, so there is no conflict, and now there are two. Snapshot isolation permits that.',
        choices: 'f1f1f1',
      },
    ],
  },
  {
    name: 'predicate-skew-closed',
    title: 'Anomaly G2: the same, closed with lock()',
    scenario: 'locked-predicate',
    parts: [
      {
        says: 'The same, but each locks row 0, which is empty and stands for all rows. Both find no row with 30.',
        choices: 's0f0f0f0s1f1f1f1',
      },
      {
        says: 'T1 adds row 3, and commits. A record at row 0 tells that it relied on it.',
        choices: 'f0f0f0f0f0',
      },
      {
        says: 'T2 comes to lock row 0, finds that record, and loses. It takes back the row that it has locked meanwhile.',
        choices: 'f1f1f1f1f1',
      },
    ],
  },
  {
    name: 'read-only-closed',
    title: 'Anomaly: the reader, closed with lock()',
    scenario: 'locked-overdraft',
    parts: [
      {
        says: 'Again one draws $10 from checking while both accounts are empty, and will pay a fee. But it locks savings, on which the fee depends.',
        choices: 's0f0f0f0',
      },
      { says: 'Another one pays $20 into savings, and commits.', choices: 's1f1f1f1f1f1' },
      { says: 'A reader sees $0 and $20.', choices: 's2f2f2f2' },
      {
        says: 'The first one comes to lock savings, which have changed since its snapshot. It has lost; its caller tries again, and there is no fee.',
        choices: 'f0f0f0f0f0s0f0f0f0f0f0f0f0f0',
      },
    ],
  },
];
