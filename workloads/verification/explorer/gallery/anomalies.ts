/** The anomalies of the textbooks: what snapshot isolation prevents, and what it permits. */
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
        says: "Ben comes to lock Ann's cell, and finds that it has changed since the snapshot. Ben's transaction has lost.",
        choices: 'f1f1f1',
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
];
