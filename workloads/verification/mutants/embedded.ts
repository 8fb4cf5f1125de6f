/**
 * Mistakes in the embedded store, on a disk that fails and loses its power: groups that fail (P58),
 * what a power failure may undo (P67), and the index that is copied to the disk while it changes
 * (P71); a full disk (P78); and owners that have lost the store without knowing (P69, P70).
 */
import type { DiskKnobs } from '../simulation/index.ts';
import { change, type Mutant } from './mutant.ts';

const EMBEDDED_STORE = 'bigtable/embedded/embedded.ts';
const HINT = 'bigtable/embedded/hint.ts';
const INDEX = 'bigtable/embedded/sorted-index.ts';
const LOG = 'bigtable/embedded/log.ts';
const OWNERSHIP = 'bigtable/embedded/folder.ts';
const RESERVE = 'bigtable/embedded/reserve.ts';
const ROWS = 'bigtable/embedded/row-store.ts';

/** The index has many leaves, and changes while it is copied. */
const COPYING: Partial<DiskKnobs> = {
  longRows: 200,
  hintTurnsMax: 3,
  cutOneIn: 60,
  isFull: false,
};

const COPIED: readonly Mutant[] = [
  {
    rule: 'P71',
    name: 'merged-leaf-passed-over',
    mistake:
      'The copy of the index goes on after a leaf that has taken in its neighbour meanwhile.',
    changes: [
      change(
        INDEX,
        '      if (first === leaf.count) continue;\n',
        '      if (first > 0) continue;\n',
      ),
    ],
    world: 'disk',
    disk: COPYING,
  },
  {
    rule: 'P71',
    name: 'hint-before-its-groups',
    mistake: 'A hint counts before the groups that its leaves show are on the disk.',
    changes: [change(HINT, 'shown: await flush()', 'shown: (void flush, header.sequence)')],
    world: 'disk',
  },
];

const FAILED: readonly Mutant[] = [
  {
    rule: 'P58',
    name: 'served-while-in-doubt',
    mistake: 'After a group that may be on the disk, the store serves what was there before it.',
    changes: [
      change(
        ROWS,
        "    this.#isInDoubt ||= hasCode(error, 'STORE_IN_DOUBT');\n",
        '    void hasCode;\n',
      ),
    ],
    world: 'disk',
    disk: { failures: 10 },
  },
  {
    rule: 'P58',
    name: 'unsynced-not-written-again',
    mistake: 'What waited for a sync that has failed is not written again.',
    changes: [
      change(ROWS, '    this.#writeUnsyncedAgain();\n', ''),
      change(ROWS, '  #writeUnsyncedAgain(): void {\n', '  writeUnsyncedAgain(): void {\n'),
    ],
    world: 'disk',
    disk: { failures: 10, provisional: 0.7 },
  },
];

const LOST: readonly Mutant[] = [
  {
    rule: 'P67',
    name: 'durable-group-not-synced',
    mistake: 'A group that decides something is answered when it is written.',
    changes: [change(ROWS, '      mayWait: group.isProvisional,\n', '      mayWait: true,\n')],
    world: 'disk',
  },
  {
    rule: 'P67',
    name: 'unsynced-part-not-named',
    mistake: 'A group does not say that what is before it may be torn.',
    changes: [
      change(LOG, 'at.offset === 0 ? 0 : at.offset - this.#synced.offset', '0 * at.offset'),
    ],
    world: 'disk',
  },
  {
    rule: 'P67',
    name: 'cleaned-before-the-sync',
    mistake: 'A file is removed when what it held was written elsewhere, and not yet synced.',
    changes: [
      change(
        ROWS,
        'if (this.log.isSynced) this.#removeBefore(oldest);',
        'this.log.removeBefore(oldest);\n    if (this.log.isSynced) this.#removeBefore(oldest);',
      ),
    ],
    world: 'disk',
  },
];

const STAYS_FULL: Partial<DiskKnobs> = { isFull: true, failures: 0, cutOneIn: 1_000 };

const FULL: readonly Mutant[] = [
  {
    rule: 'P78',
    name: 'no-room-kept',
    mistake: 'No room is kept for what readers wait for on a full disk.',
    changes: [change(RESERVE, 'if (this.#bytes === 0 || this', 'if (this.#bytes >= 0 || this')],
    world: 'disk',
    disk: STAYS_FULL,
  },
  {
    rule: 'P78',
    name: 'room-taken-while-in-use',
    mistake: 'While the room is used for what readers wait for, other mutations take it away.',
    changes: [
      change(EMBEDDED_STORE, 'if (this.#reserve.isInUse && !mut', 'if (!this.#reserve && !mut'),
    ],
    world: 'disk',
    disk: STAYS_FULL,
  },
  {
    rule: 'P78',
    name: 'opened-without-the-room',
    mistake:
      'A store on a full disk cannot be opened, as the room is not used to write what it must.',
    changes: [
      change(
        'bigtable/embedded/open-embedded.ts',
        'await reserve.use(() => rows.restore(pagesOf(last)));',
        'await rows.restore(pagesOf(last));',
      ),
    ],
    world: 'disk',
    disk: STAYS_FULL,
  },
];

const LOOK_AFTER_SYNC = '      this.ownership.look(); // After the sync: see folder.ts.\n';

const DISPLACED: readonly Mutant[] = [
  {
    rule: 'P69',
    name: 'answered-without-a-look',
    mistake: 'A commit is answered although the store may have another owner by now.',
    changes: [change(LOG, LOOK_AFTER_SYNC, '')],
    world: 'owners',
  },
  {
    rule: 'P69',
    name: 'read-without-a-look',
    mistake: 'A read is answered although the store may have another owner by now.',
    changes: [
      change(
        EMBEDDED_STORE,
        'if (this.#closed === undefined) this.#rows.log.ownership.look();',
        'void this.#rows.log.ownership;',
      ),
    ],
    world: 'owners',
  },
  {
    rule: 'P69',
    name: 'next-owner-reads-at-once',
    mistake: 'The next owner reads the log while a look of the owner before it still counts.',
    changes: [change(OWNERSHIP, ': number = 2 * LOOK_MS;', ': number = 0 * LOOK_MS;')],
    world: 'owners',
    owners: { harm: 'none' },
  },
  {
    rule: 'P69',
    name: 'look-counts-for-long',
    mistake: 'A look at the ownership counts for longer than the next owner waits.',
    changes: [change(OWNERSHIP, 'nowMs - this.#lookedMs < LOOK_MS', 'nowMs - this.#lookedMs < 90')],
    world: 'owners',
    owners: { harm: 'none' },
  },
  {
    rule: 'P69',
    name: 'replaced-file-written-to',
    mistake: "An owner does not look whether its log's file is still in its folder.",
    changes: [change(OWNERSHIP, 'this.#newest === undefined ? [] : [this.#newest]', '[]')],
    world: 'owners',
    owners: { harm: 'file replaced' },
  },
  {
    rule: 'P70',
    name: 'unfinished-file-stays',
    mistake:
      'A file that the owner before has just made is still there when the next group is written.',
    changes: [
      change(
        'bigtable/embedded/open-embedded.ts',
        'leftovers.filter(isUnfinished)) disk.remove(name)',
        'leftovers.filter(isUnfinished)) void name',
      ),
    ],
    world: 'owners',
    owners: { harm: 'none', pauseOneIn: 4 },
  },
];

export const EMBEDDED: readonly Mutant[] = [...COPIED, ...FAILED, ...LOST, ...FULL, ...DISPLACED];
