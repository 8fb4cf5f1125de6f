/**
 * Mistakes in the embedded store, on a disk that fails and loses its power: groups that fail (P58),
 * what a power failure may undo (P67), and the index that is copied to the disk while it changes
 * (P86).
 */
import type { DiskKnobs } from '../simulation/index.ts';
import { change, type Mutant } from './mutant.ts';

const HINT = 'bigtable/embedded/hint.ts';
const INDEX = 'bigtable/embedded/sorted-index.ts';
const LOG = 'bigtable/embedded/log.ts';
const ROWS = 'bigtable/embedded/row-store.ts';

/** The index has many leaves, and changes while it is copied. */
const COPYING: Partial<DiskKnobs> = { longRows: 200, hintTurnsMax: 3, cutOneIn: 60 };

const COPIED: readonly Mutant[] = [
  {
    rule: 'P86',
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
    rule: 'P86',
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
      change(ROWS, '    this.change(() => this.#writeUnsyncedAgain());\n', ''),
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

export const EMBEDDED: readonly Mutant[] = [...COPIED, ...FAILED, ...LOST];
