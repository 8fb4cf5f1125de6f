/**
 * Search by meaning over texts that change: text, chunks, vectors, nearest neighbours.
 *
 *     texts/<id>: text  ──observer──▶  chunks/<id>#<digest>: text  ──observer──▶  vector
 *
 * A text is cut into paragraphs, and a chunk is named by the digest of its paragraph. So a text
 * that is written again changes only the chunks of paragraphs that are new or gone, and only a new
 * chunk is embedded. `put` returns before that; `idle` waits for it.
 *
 * A process that dies on the way leaves a notification in the store, and another one goes on. A
 * vector is committed once for each chunk. `embed` may be called again when its commit met a
 * conflict.
 */
import { createHash } from 'node:crypto';
import type { Observer, Percolator } from 'percolator-engine';

/** Turns a text into a vector, whose length is the same for all texts: yours, or a model's. */
export type Embed = (text: string) => Promise<Float32Array>;

export interface Neighbour {
  /** Of the text that the chunk is part of. */
  readonly id: string;
  readonly chunk: string;
  /** The cosine of the angle between the vectors: 1 for the same direction. */
  readonly similarity: number;
}

export interface EmbeddingIndex extends AsyncDisposable {
  /** Writes a text in place of an older one; `null` removes it. Ids are without `#`. */
  readonly put: (id: string, text: string | null) => Promise<void>;
  /**
   * Resolves when every change so far can be found, but for chunks whose `embed` throws: they rest,
   * with a warning, and are tried again.
   */
  readonly idle: () => Promise<void>;
  /** The chunks whose vectors are nearest to that of the question, the nearest first. */
  readonly search: (question: string, most: number) => Promise<readonly Neighbour[]>;
}

const cell = (table: string, row: string, column: string) => ({ table, row, column });

export async function openEmbeddingIndex(
  percolator: Percolator,
  embed: Embed,
): Promise<EmbeddingIndex> {
  await percolator.createTable('texts', { observedColumns: ['text'] });
  await percolator.createTable('chunks', { observedColumns: ['text'] });

  const cut: Observer['run'] = async (transaction, { row: id }) => {
    const text = await transaction.get(cell('texts', id, 'text'));
    const wanted = new Map(paragraphsOf(String(text ?? '')).map((one) => [nameOf(id, one), one]));
    const known = await transaction.get(cell('texts', id, 'chunks'));
    const there = new Set(JSON.parse(String(known ?? '[]')) as readonly string[]);
    for (const row of there) {
      if (wanted.has(row)) continue;
      for (const column of ['text', 'vector']) transaction.delete(cell('chunks', row, column));
    }
    for (const [row, paragraph] of wanted) {
      if (!there.has(row)) transaction.set(cell('chunks', row, 'text'), paragraph);
    }
    const chunks = cell('texts', id, 'chunks');
    if (wanted.size === 0) transaction.delete(chunks);
    else transaction.set(chunks, JSON.stringify([...wanted.keys()]));
  };

  const embedChunk: Observer['run'] = async (transaction, chunk) => {
    const text = await transaction.get(chunk);
    if (text === undefined) return; // The chunk is gone, and its vector with it.
    const { buffer, byteOffset, byteLength } = await embed(String(text));
    const vector = new Uint8Array(buffer, byteOffset, byteLength);
    transaction.set({ ...chunk, column: 'vector' }, vector);
  };

  const worker = percolator.startWorker([
    { name: 'cut', table: 'texts', column: 'text', run: cut },
    { name: 'embed', table: 'chunks', column: 'text', run: embedChunk },
  ]);
  return {
    put: async (id, text) => {
      await percolator.transact(async (transaction) => {
        if (text === null) transaction.delete(cell('texts', id, 'text'));
        else transaction.set(cell('texts', id, 'text'), text);
      });
    },
    idle: async () => {
      await worker.idle();
    },
    search: async (question, most) => {
      const asked = await embed(question);
      await using snapshot = await percolator.snapshot();
      const found: Neighbour[] = [];
      for await (const { row, values } of snapshot.scan({
        table: 'chunks',
        columns: ['text', 'vector'],
      })) {
        const vector = values.get('vector');
        if (vector === undefined) continue; // It is not embedded yet.
        const similarity = cosine(asked, new Float32Array(Uint8Array.from(vector).buffer));
        found.push({
          id: row.slice(0, row.lastIndexOf('#')),
          chunk: String(values.get('text')),
          similarity,
        });
      }
      return found.toSorted((a, b) => b.similarity - a.similarity).slice(0, most);
    },
    [Symbol.asyncDispose]: () => worker[Symbol.asyncDispose](),
  };
}

function paragraphsOf(text: string): readonly string[] {
  return text
    .split(/\n\s*\n/)
    .map((one) => one.trim())
    .filter(Boolean);
}

function nameOf(id: string, paragraph: string): string {
  return `${id}#${createHash('sha256').update(paragraph).digest('hex').slice(0, 32)}`;
}

function cosine(a: Float32Array, b: Float32Array): number {
  const dot = (x: Float32Array, y: Float32Array) =>
    x.reduce((sum, one, i) => sum + one * (y[i] ?? 0), 0);
  return dot(a, b) / (Math.sqrt(dot(a, a) * dot(b, b)) || 1);
}
