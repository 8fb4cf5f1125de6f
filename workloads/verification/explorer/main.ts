/**
 * `./run.sh explore`: makes the explorer's page, one file that needs no network, and opens it where
 * a program for that is found.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { execa } from 'execa';
import { flag, outputFolder, runCommand, text } from '#harness';
import { UsageError } from '#results';
import * as sound from './engine.ts';
import { buildPage } from './page/build.ts';
import { readLink, refusalOf, writeLink } from './page/link.ts';

const FILE = 'explorer.html';

await runCommand(
  {
    script: 'explore',
    description:
      'Makes a page on which the real engine runs in your browser, message by message: commits, crashes, the ' +
      'clean-up after them, notifications and the garbage collection, each known race with and without the rule ' +
      'that closes it. The page is one file, needs no network, and its addresses are links to what it shows.',
    options: {
      out: outputFolder({
        description: `folder for ${FILE}`,
        default: () => path.join('results', 'runs'),
        defaultText: 'results/runs',
      }),
      noOpen: flag({ description: 'do not open the page in a browser' }),
      link: text({
        description: 'what to show first, as in an address of the page after the #',
        placeholder: 'link',
        default: '',
      }),
    },
    examples: [
      { command: './run.sh explore', does: 'Makes the page and opens it.' },
      {
        command: './run.sh explore --no-open --link late-prewrite-copy',
        does: 'Prints the address of one of its stories.',
      },
    ],
  },
  async ({ out, noOpen, link }) => {
    const hash = link === '' ? '' : checked(link);
    await mkdir(out, { recursive: true });
    const file = path.resolve(out, FILE);
    await writeFile(file, await buildPage());
    const address = `${pathToFileURL(file).href}${hash}`;
    process.stdout.write(`${address}\n`);
    if (!noOpen) await openInBrowser(address);
  },
);

/** The link as the page writes it, with a `#`. */
function checked(link: string): string {
  const shown = readLink(link);
  const refusal = shown === undefined ? 'it is neither' : refusalOf(shown, sound);
  if (shown !== undefined && refusal === undefined) return writeLink(shown);
  throw new UsageError(
    `--link must be the name of a story, or a scenario and choices such as transfer/s0n5, not ${JSON.stringify(link)}: ${refusal}.`,
  );
}

/** Where no such program is there, the printed address must do. */
async function openInBrowser(address: string): Promise<void> {
  const program = { darwin: 'open', win32: 'explorer' }[process.platform as string] ?? 'xdg-open';
  await execa(program, [address], { reject: false, stdio: 'ignore', timeout: 10_000 });
}
