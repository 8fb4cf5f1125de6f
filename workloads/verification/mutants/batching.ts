/** Mistakes in batching and reading ahead (section 2.5): P11, P19, P20, P31 and P40. */
import { change, type Mutant } from './mutant.ts';

/** Marks are lost on the way, so the outcome depends on what their commit assumes about them. */
const LOSING_MARKS = {
  messages: { loseRequest: 0.03, crashBefore: 0.004 },
  batching: { delayMs: 5, rowsMax: 256, inFlightMax: 8 },
} as const;

export const BATCHING: readonly Mutant[] = [
  {
    rule: 'P20',
    name: 'hidden-version-taken-for-none',
    mistake: 'A version for which a merged read had no room is taken for absent.',
    changes: [
      change(
        'bigtable/batching/widen.ts',
        '    if (mayHide(found, filter)) return null;\n',
        '    void mayHide;\n',
      ),
    ],
  },
  {
    rule: 'P11',
    name: 'failed-batch-taken-for-done',
    mistake: 'The callers of a batch that applied in part hear that all of it was applied.',
    changes: [
      change(
        'bigtable/batching/kinds.ts',
        "      return requests.map(() => ({ status: 'rejected', reason: own }));\n",
        "      void own;\n      return requests.map(() => ({ status: 'fulfilled', value: undefined }));\n",
      ),
    ],
    knobs: LOSING_MARKS,
  },
  {
    rule: 'P11',
    name: 'lost-answer-in-batch-taken-for-yes',
    mistake: 'In a batch, a conditional mutation without an answer is taken for applied.',
    changes: [
      change(
        'bigtable/batching/kinds.ts',
        "  return { status: 'rejected', reason };\n}\n\nconst REFUSALS",
        "  return reason.message === '' ? { status: 'rejected', reason } : { status: 'fulfilled', value: false };\n}\n\nconst REFUSALS",
      ),
    ],
  },
  {
    rule: 'P40',
    name: 'lanes-said-to-keep-order',
    mistake: 'Lanes overtake one another, and the marks of a commit are sent as if they did not.',
    changes: [
      change(
        'bigtable/batching.ts',
        '{ ...store.manifest, ordered: false, batches: true }',
        '{ ...store.manifest, ordered: true, batches: true }',
      ),
    ],
    knobs: LOSING_MARKS,
  },
  {
    rule: 'P31',
    name: 'kept-before-it-was-validated',
    mistake: 'The cells of a grouped read are kept, and then it is asked whether they are stale.',
    changes: [
      change(
        'transaction/reads.ts',
        '    await validateRead(this.#context, this.#held);\n    targets.forEach(',
        '    targets.forEach(',
      ),
      change(
        'transaction/reads.ts',
        '      this.#keep(target, one);\n    });\n',
        '      this.#keep(target, one);\n    });\n    await validateRead(this.#context, this.#held);\n',
      ),
    ],
  },
  {
    rule: 'P31',
    name: 'single-read-kept-before-it-was-validated',
    mistake: 'The cells of one row are kept, and then it is asked whether they are stale.',
    changes: [
      change(
        'transaction/reads.ts',
        '    const validating = validateRead(this.#context, this.#held);\n',
        '    this.#keep(target, seen);\n    const validating = validateRead(this.#context, this.#held);\n',
      ),
    ],
  },
  {
    rule: 'P20',
    name: 'grouped-by-what-was-asked-for',
    mistake: 'Rows are read in one call although what is read ahead of them differs.',
    changes: [
      change(
        'transaction/reads.ts',
        '    areEqual(a.columns, b.columns) &&\n    areEqual(a.alongside ?? [], b.alongside ?? [])\n',
        '    areEqual(a.columns, b.columns)\n',
      ),
    ],
  },
  {
    rule: 'P19',
    name: 'read-ahead-past-a-lock',
    mistake: 'A column that was read ahead is kept although it held a lock.',
    changes: [
      change(
        'transaction/prefetch/prefetch.ts',
        'if (locked.has(column) || isElsewhere(read, column)) continue;',
        'if (isElsewhere(read, column)) continue;',
      ),
    ],
  },
  {
    rule: 'P20',
    name: 'read-ahead-for-the-next-transaction',
    mistake: 'Cells that one transaction read ahead are kept for later transactions.',
    changes: [
      change(
        'transaction/prefetch/prefetch.ts',
        '    this.#kind = kind;\n',
        '    this.#kind = kind;\n    this.#rows = model.rows ??= this.#rows;\n',
      ),
      change('transaction/prefetch/prefetch.ts', '    this.#rows.clear();\n', ''),
    ],
  },
];
