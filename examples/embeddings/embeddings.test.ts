/** Only what has changed is embedded, and each vector is committed once. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { openPercolator, type Percolator } from 'percolator-engine';
import { type Embed, openEmbeddingIndex } from './embeddings.ts';

/** Counts the letters. The last number says how many texts were embedded before. */
function countingEmbed() {
  const texts: string[] = [];
  const embed: Embed = (text) => {
    const vector = new Float32Array(27);
    for (const letter of text.toLowerCase().match(/[a-z]/g) ?? []) {
      const at = letter.charCodeAt(0) - 97;
      vector[at] = (vector[at] ?? 0) + 1;
    }
    vector[26] = texts.push(text) / 1e6;
    return Promise.resolve(vector);
  };
  return { embed, taken: () => texts.splice(0).toSorted() };
}

/** The vectors of all chunks, by their text. */
async function vectorsIn(percolator: Percolator): Promise<ReadonlyMap<string, string>> {
  const vectors = new Map<string, string>();
  await using snapshot = await percolator.snapshot();
  const columns = ['text', 'vector'];
  for await (const { values } of snapshot.scan({ table: 'chunks', columns })) {
    vectors.set(
      String(values.get('text')),
      Buffer.from(values.get('vector') ?? '').toString('hex'),
    );
  }
  return vectors;
}

async function withFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), 'embeddings-'));
  try {
    await body(path.join(folder, 'index'));
  } finally {
    await rm(folder, { recursive: true });
  }
}

test('a text that is written again has only its new paragraphs embedded', () =>
  withFolder(async (folder) => {
    const { embed, taken } = countingEmbed();
    await using percolator = await openPercolator({ folder });
    await using index = await openEmbeddingIndex(percolator, embed);
    await index.put('animals', 'a cat\n\na dog\n\nan owl');
    await index.put('plants', 'a rose\n\nan oak');
    await index.idle();
    assert.deepEqual(taken(), ['a cat', 'a dog', 'a rose', 'an oak', 'an owl']);
    const before = await vectorsIn(percolator);

    await index.put('animals', 'an owl\n\na cat\n\na fish');
    await index.idle();
    assert.deepEqual(taken(), ['a fish']);
    const after = await vectorsIn(percolator);
    assert.deepEqual([...after.keys()].toSorted(), [
      'a cat',
      'a fish',
      'a rose',
      'an oak',
      'an owl',
    ]);
    for (const text of ['a cat', 'an owl', 'a rose', 'an oak']) {
      assert.equal(after.get(text), before.get(text));
    }

    const [nearest] = await index.search('owl', 1);
    assert.deepEqual([nearest?.id, nearest?.chunk], ['animals', 'an owl']);
    assert.deepEqual(taken(), ['owl']);
    await index.put('animals', null);
    await index.idle();
    assert.deepEqual(taken(), []);
    assert.deepEqual([...(await vectorsIn(percolator)).keys()].toSorted(), ['a rose', 'an oak']);
  }));

test('of several workers, each chunk has one whose vector is committed, and it stays', () =>
  withFolder(async (folder) => {
    const { embed, taken } = countingEmbed();
    await using one = await openPercolator({ folder });
    await using other = await openPercolator({ folder });
    await using index = await openEmbeddingIndex(one, embed);
    await using again = await openEmbeddingIndex(other, embed);
    const paragraphs = Array.from({ length: 40 }, (_, i) => `paragraph ${i}`);
    await Promise.all(paragraphs.map((text, i) => index.put(`text ${i % 4}/${i}`, text)));
    await index.idle();
    await again.idle();
    assert.deepEqual([...new Set(taken())], paragraphs.toSorted());
    const vectors = await vectorsIn(other);
    await Promise.all(paragraphs.map((text, i) => again.put(`text ${i % 4}/${i}`, text)));
    await again.idle();
    await index.idle();
    assert.deepEqual(taken(), []);
    assert.deepEqual(await vectorsIn(one), vectors);
  }));
