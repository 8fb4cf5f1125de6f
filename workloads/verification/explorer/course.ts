/**
 * The course: ten steps from two rows and one crash to the whole protocol. Each asks for something
 * that the learner makes happen; the page sees it in the world, however it was brought about.
 */
import type { Picture, PictureCell } from './world/picture.ts';

export interface CourseStep {
  /** `course-3`: it stands in links, as the names of scenarios do. */
  readonly name: string;
  readonly title: string;
  /** The name of the scenario. */
  readonly scenario: string;
  /** The mutant that it plays on; it must be one of the gallery. Absent: the engine as it is. */
  readonly mutant?: string | undefined;
  /** What to bring about: two or three sentences. */
  readonly asks: string;
  readonly isDone: (seen: Seen) => boolean;
  /** What to take away from it, once it is done. */
  readonly learned: string;
  /** Choices that bring it about, for who is stuck. */
  readonly solution: string;
}

/** The world at a moment, and what has happened until then. */
export interface Seen {
  /** All lines so far. */
  readonly log: readonly string[];
  readonly picture: Pick<Picture, 'rows' | 'actors'>;
  /** What the judges find broken. */
  readonly claims: readonly string[];
}

export const COURSE: readonly CourseStep[] = [
  {
    name: 'course-1',
    title: 'Two rows, one crash',
    scenario: 'transfer',
    asks: 'A transfer touches two rows, and no storage changes two rows at once. Press “move $7 from Bob to Joe” on the card of the writer, deliver its messages until both accounts are locked, and let the writer crash then.',
    isDone: (seen) => isDead(seen, 'writer') && cellsOf(seen, 'lock').length === 2,
    learned:
      'Both accounts are locked, and the one who knows why is dead. Still the judge is content: the old values are there, and the locks name their transaction.',
    solution: 's0f0f0f0f0f0c0',
  },
  {
    name: 'course-2',
    title: 'The next one cleans up',
    scenario: 'transfer',
    asks: 'Once more, let the writer crash with its locks. Then start the reader, and deliver its messages until it has read both accounts.',
    isDone: (seen) =>
      isDead(seen, 'writer') &&
      hears(seen, /reader: .*set bal:rollback/) &&
      hears(seen, /reader: reads \S+Bob:bal: \$10$/),
    learned:
      'The reader does not wait for the dead. It asked the primary, found it locked by a dead process, and rolled the transfer back: the primary first, then the rest.',
    solution: 's0f0f0f0f0f0c0s1f1f1f1f1f1f1f1f1',
  },
  {
    name: 'course-3',
    title: 'The commit point',
    scenario: 'transfer',
    asks: 'Now let the writer crash one message later, or two: so that the reader finds the transfer done, $3 and $9, although the writer never finished it.',
    isDone: (seen) =>
      isDead(seen, 'writer') &&
      hears(seen, /reader: .*set bal:write/) &&
      hears(seen, /reader: reads \S+Bob:bal: \$3$/),
    learned:
      "One cell decides for all: when the primary's lock has become a write record, the transaction has happened. Who meets another of its locks completes it.",
    solution: 's0f0f0f0f0f0f0f0c0s1f1f1f1f1f1f1',
  },
  {
    name: 'course-4',
    title: 'An answer is lost',
    scenario: 'transfer',
    asks: 'Let the commit of the primary arrive, but lose its answer. Then find out what the writer tells its caller.',
    isDone: (seen) =>
      hears(seen, /writer: \S+Bob: .*set bal:write.* ▸ found \(and its answer is lost\)$/) &&
      commits(seen) > 0,
    learned:
      'No answer is not a no. The writer sent its commit again, found no lock of its own, and looked for its write record before it told its caller anything.',
    solution: 's0f0f0f0f0f0f0a6f0f0',
  },
  {
    name: 'course-5',
    title: 'A lost update, prevented',
    scenario: 'wages',
    asks: 'Two processes pay into one account. Let both read $10, and try to lose one of the payments: let both commit.',
    isDone: (seen) => commits(seen) === 1 && hears(seen, /has failed: WRITE_CONFLICT$/),
    learned:
      'The first to commit wins. The other one finds a lock, or a write record newer than its snapshot, and gives up; its caller reads again, and sees the first payment.',
    solution: 's0f0f0s1f1f1f0f0f0f1f1f1',
  },
  {
    name: 'course-6',
    title: 'Dead or slow?',
    scenario: 'transfer',
    asks: 'No process can tell a dead one from a slow one. Let the others presume the writer dead while it holds its locks, let the reader clean up, and then let the writer go on.',
    isDone: (seen) =>
      hears(seen, /writer: is presumed dead/) &&
      !isDead(seen, 'writer') &&
      hears(seen, /writer: .*has failed: /),
    learned:
      'Being wrong about the dead costs a transaction, and never money. The commit changes the lock into a record only if the lock is still there, in one mutation of one row.',
    solution: 's0f0f0f0f0f0b0s1f1f1f1f1f1f1f1f0f0f0',
  },
  {
    name: 'course-7',
    title: 'A message comes twice',
    scenario: 'transfer',
    mutant: 'prewrite-ignores-marker',
    asks: 'This engine lacks a rule: a prewrite does not look for a rollback record. Let the reader roll back a living writer, as before. Then deliver a copy of its first prewrite, and let it go on, until the judge finds half a transfer.',
    isDone: ({ claims }) => claims.some((claim) => claim.startsWith('snapshot isolation:')),
    learned:
      'A rollback must be remembered. The record that it leaves stops every late copy of the prewrite, however long the network has kept it.',
    solution: 's0f0f0f0f0f0b0s1f1f1f1f1f1f1k3f0f0',
  },
  {
    name: 'course-8',
    title: 'Write skew',
    scenario: 'ward',
    asks: 'Two doctors are on call, and one of them has to stay. Each goes home if the other one stays. Send both of them home.',
    isDone: (seen) => commits(seen) === 2 && !hears(seen, /stays, because/),
    learned:
      'Each read what the other one wrote, and they wrote different rows: no conflict. Snapshot isolation permits that, so the judge is content, and the ward is not.',
    solution: 's0f0f0f0s1f1f1f1f0f0f0f1f1f1',
  },
  {
    name: 'course-9',
    title: 'A lock on what was read',
    scenario: 'locked-ward',
    asks: 'The same ward, but each doctor locks the cell of the other one with lock(). Let both read that two are on call, and try to send both home.',
    isDone: (seen) => bothHaveRead(seen) && hears(seen, /has failed: WRITE_CONFLICT$/),
    learned:
      'A lock makes a conflict of what was only read. One of the two fails, tries again, and sees that it must stay. Ask for it where a decision depends on a read.',
    solution: 's0f0f0f0s1f1f1f1f0f0f0f0f0f1f1f1f1f1f1',
  },
  {
    name: 'course-10',
    title: 'Two changes, one run',
    scenario: 'crawl',
    asks: 'A page is loaded twice, and an observer makes its entry in an index. Load it twice, and only then let a worker run: how often does its observer have to run until no notification is left?',
    isDone: (seen) =>
      commits(seen) >= 2 &&
      cellsOf(seen, 'notify').length === 0 &&
      cellsOf(seen, 'data').some(({ text }) => text === 'entry of v2') &&
      !cellsOf(seen, 'data').some(({ text }) => text === 'entry of v1'),
    learned:
      'Notifications collapse: an observer runs at least once after a change, in a transaction of its own, and sees the newest. Its acknowledgment is a cell like any other, so two workers conflict. That is the whole protocol.',
    solution: 's0f0f0f0f0f0s0f0f0f0f0f0s1f1f1f1f1f1f1f1f1f1f1f1',
  },
];

function isDead({ picture: { actors } }: Seen, name: string): boolean {
  return actors.some((actor) => actor.name === name && actor.state === 'dead');
}

function cellsOf({ picture: { rows } }: Seen, kind: string): readonly PictureCell[] {
  return rows.flatMap(({ cells }) => cells.filter((cell) => cell.kind === kind));
}

function hears({ log }: Seen, what: RegExp): boolean {
  return log.some((line) => what.test(line));
}

/** Transactions whose caller has heard that they committed. */
function commits({ log }: Seen): number {
  return log.filter((line) => / has committed at \d+$/.test(line)).length;
}

/** Whether both began before either of them had ended. */
function bothHaveRead({ log }: Seen): boolean {
  const ended = log.findIndex((line) => / has (?:committed|failed)/.test(line));
  return (
    log.slice(0, Math.max(0, ended)).filter((line) => line.includes(' starts at ')).length === 2
  );
}
