/** What readers and writers look at, and when; what collectors delete. */
import type { GalleryEntry } from './entry.ts';

export const READING: readonly GalleryEntry[] = [
  {
    name: 'reads-of-different-moments',
    title: 'Records first, locks afterwards',
    rule: 'P20',
    scenario: 'blind',
    mutant: 'lock-and-record-read-apart',
    convicted: 'snapshot isolation: stale read',
    parts: [
      {
        says: 'The writer has locked both accounts, and has its commit timestamp. A reader that starts now must see what it writes.',
        choices: 's0f0f0f0f0s3f3',
      },
      {
        says: "Without the rule the reader asks in two messages. The first one brings Joe's write records: the old one only.",
        choices: 'f3',
      },
      { says: 'The writer commits, and replaces its locks.', choices: 'f0f0' },
      {
        says: 'The second message asks for locks, and finds none. The reader believes the old record: it reads a value that was overwritten before it started.',
        choices: 'f3f3f3',
      },
    ],
  },
  {
    name: 'own-echo',
    title: 'Its own echo taken for a conflict',
    rule: 'P12',
    scenario: 'transfer',
    mutant: 'echo-taken-for-conflict',
    convicted: 'snapshot isolation: failed yet visible',
    parts: [
      { says: 'The writer sends its commit.', choices: 's0f0f0f0f0f0f0' },
      { says: 'The commit is applied, and the answer is lost.', choices: 'a6' },
      {
        says: 'The writer sends the commit again. It finds no lock, because the first one has replaced it.',
        choices: 'f0',
      },
      {
        says: 'Without the rule the writer takes this for the work of another process: it tells its caller that nothing happened. But the money has moved, and the caller will move it again.',
        choices: 'f0',
      },
    ],
  },
  {
    name: 'retry-without-reads',
    title: 'Trying again without reading again',
    rule: 'P18',
    scenario: 'wages',
    mutant: 'retry-without-reading',
    convicted: 'snapshot isolation: read of an uncommitted value',
    parts: [
      { says: 'A reads that Bob has $10, and will write $13.', choices: 's0f0f0' },
      { says: 'B pays Bob $5 meanwhile, and commits: $15.', choices: 's1f1f1f1f1f1' },
      { says: 'A meets the newer record: it has lost, and cleans up.', choices: 'f0f0f0' },
      {
        says: 'Without the rule it tries the same writes again from a new start timestamp. Now nothing is in its way: it writes $13, and the $5 of B are gone.',
        choices: 'f0f0f0f0',
      },
    ],
  },
  {
    name: 'delete-that-erases',
    title: 'A delete that erases',
    rule: 'P17',
    scenario: 'blind',
    mutant: 'delete-erases',
    convicted: 'snapshot isolation: stale read',
    parts: [
      { says: 'A reader takes its snapshot: Joe has $2.', choices: 's3f3' },
      {
        says: 'Another process deletes Joe. Without the rule that erases the records, instead of adding one that says: deleted.',
        choices: 's2f2f2f2f2',
      },
      {
        says: 'The reader goes on in its older snapshot, in which Joe must still be, and finds nothing.',
        choices: 'f3f3',
      },
    ],
  },
  {
    name: 'joined-names',
    title: 'Two cells with one name',
    rule: 'P60',
    scenario: 'joined-names',
    mutant: 'cells-joined-by-a-separator',
    convicted: 'snapshot isolation: half committed',
    parts: [
      {
        says: 'The writer sets two cells. Row and column differ, but joined by a zero byte they read the same.',
        choices: 's0f0f0',
      },
      {
        says: 'Without the rule the writer keeps its writes under such names: the second one takes the place of the first, which is never sent. The transaction commits without it.',
        choices: 'f0f0',
      },
    ],
  },
  {
    name: 'leases-ignored',
    title: 'A snapshot loses its versions',
    rule: 'P31',
    scenario: 'garbage',
    mutant: 'leases-ignored',
    convicted: 'snapshot isolation: stale read',
    parts: [
      {
        says: 'A reader takes a snapshot. Its lease tells collectors to keep what the snapshot sees.',
        choices: 's1f1',
      },
      { says: 'A writer overwrites both accounts.', choices: 's0f0f0f0f0f0f0' },
      {
        says: 'A collector begins. Without the rule it does not look at the leases, and moves the horizon above the snapshot.',
        choices: 's2f2f2t130000f2f2f2f2',
      },
      {
        says: 'It waits until no old message can be in flight, and deletes what is below the horizon: also the versions that the reader needs.',
        choices: 't130000f2f2f2f2f2',
      },
      { says: 'The reader reads on, and finds nothing where there was money.', choices: 'f1f1' },
    ],
  },
  {
    name: 'evidence-collected-first',
    title: 'The evidence is collected first',
    rule: 'P30',
    scenario: 'dead-writer',
    mutant: 'collect-before-resolving',
    convicted: 'snapshot isolation: half committed',
    parts: [
      {
        says: "A writer commits its primary, the account of Bob, and dies. Joe's lock is left; only the record of Bob tells that it belongs to a committed transaction.",
        choices: 's0f0f0f0f0f0c0',
      },
      {
        says: "Another process overwrites Bob's account. The record that matters is an old version now.",
        choices: 's1f1f1f1f1',
      },
      {
        says: 'A collector moves the horizon, and waits until no old message can be in flight.',
        choices: 's2f2f2t130000n5t130000',
      },
      {
        says: "Without the rule it deletes before it has resolved the locks below the horizon. The old record of Bob goes, and a process that meets Joe's lock now has to take it for that of a transaction that never committed.",
        choices: 'n4',
      },
    ],
  },
  {
    name: 'rollback-record-gone-early',
    title: 'The rollback record is gone too early',
    rule: 'P4',
    scenario: 'garbage',
    mutant: 'markers-collected-at-once',
    convicted: 'snapshot isolation: half committed',
    parts: [
      {
        says: 'A writer holds its locks, and its commit is on the way. The others presume it dead.',
        choices: 's0f0f0f0f0b0',
      },
      {
        says: 'A reader rolls it back. Its rollback records are there to stop what the network still holds.',
        choices: 's1f1f1f1f1f1f1f1f1f1f1f1',
      },
      {
        says: 'The writer stands still, so its lease lapses, and a collector moves the horizon above it.',
        choices: 'p0s2f2f2t35000f2f2f2f2',
      },
      {
        says: 'Without the rule the collector does not wait until no old message can be in flight. It collects the rollback records, which no snapshot needs.',
        choices: 'f2f2f2f2',
      },
      {
        says: "A copy of the prewrite of Bob's row arrives, and nothing stops it. Then the commit arrives, and finds its lock: Bob's half is committed, and Joe's is rolled back.",
        choices: 'k1d4',
      },
    ],
  },
  {
    name: 'reused-bytes',
    title: 'The caller reuses its bytes',
    rule: 'P76',
    scenario: 'reused-bytes',
    mutant: 'callers-bytes-kept',
    convicted: 'snapshot isolation: read of an uncommitted value',
    parts: [
      {
        says: 'A caller sets Bob to $20. As soon as the call has returned, it uses the same bytes for something else, and they say $99.',
        choices: 's0f0',
      },
      {
        says: 'Without the rule the transaction has kept the bytes, not a copy. It locks the account with what they say now, and commits $99, which no caller has paid.',
        choices: 'f0f0f0',
      },
    ],
  },
];
