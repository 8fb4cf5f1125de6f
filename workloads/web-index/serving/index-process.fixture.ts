/** A process with the serving index of a folder: `write folder [name count]`, or `read folder`. */
import process from 'node:process';
import { openIndexReader, openServingIndex } from './sqlite-index.ts';

const [task = '', folder = '', name = 'a', count = '100000'] = process.argv.slice(2);

if (task === 'write') {
  await using index = await openServingIndex(folder);
  for (let i = 0; i < Number(count); i++) {
    const url = `http://${name}.org/${i}`;
    const page = { title: '', text: url, language: '', anchors: [], duplicates: [], rank: 1 };
    await index.put({ ...page, url, capturedMs: 0 }, 1);
    process.stdout.write(`${url}\n`);
  }
} else {
  const index = await openIndexReader(folder);
  process.on('message', (query: string) => {
    if (query === '') process.disconnect();
    else process.send?.(index.search(query, { limit: 1 }).total);
  });
}
