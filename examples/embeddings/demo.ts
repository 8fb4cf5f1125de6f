/**
 * `node demo.ts [folder of .md files] [question]`: searches Markdown files, without a model: words
 * are hashed into a vector. Run it again after a change of a file, and see what is embedded.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { openPercolator } from 'percolator-engine';
import { type Embed, openEmbeddingIndex } from './embeddings.ts';

const [folder = '.', question = 'How do I install it?'] = process.argv.slice(2);
let embedded = 0;

/** In its place: a call of the model that you use. */
const embed: Embed = (text) => {
  embedded++;
  const vector = new Float32Array(256);
  for (const word of text.toLowerCase().match(/[a-z]+/g) ?? []) {
    const at = createHash('md5').update(word).digest()[0] ?? 0;
    vector[at] = (vector[at] ?? 0) + 1;
  }
  return Promise.resolve(vector);
};

await using percolator = await openPercolator({ folder: 'embeddings' });
await using index = await openEmbeddingIndex(percolator, embed);
for (const file of readdirSync(folder).filter((name) => name.endsWith('.md'))) {
  await index.put(file, readFileSync(path.join(folder, file), 'utf8'));
}
await index.idle();
console.log(`${embedded} chunks were embedded.`);
for (const { id, chunk, similarity } of await index.search(question, 3)) {
  console.log(`${similarity.toFixed(2)} ${id}: ${chunk.replaceAll(/\s+/g, ' ').slice(0, 80)}`);
}
