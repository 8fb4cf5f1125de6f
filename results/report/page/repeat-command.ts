/**
 * The command that repeats a run, for the machine of a reader: by `run.sh`, which brings the right
 * Node, and without `--out`, since the folder of the first run must not be used again.
 */
import packageJson from '../../../package.json' with { type: 'json' };
import type { RunRecord } from '../run-record.ts';

type Named = Pick<RunRecord, 'experiment' | 'commandLine'>;

export function repeatCommand({ experiment, commandLine }: Named): string {
  // A word in quotes may hold spaces, and an escaped quote: '\''.
  const words = commandLine.match(/(?:'[^']*'|\\.|[^\s'\\])+/g) ?? [];
  const at = words.findIndex((word) => word.endsWith('.ts'));
  const options = words.slice(at + 1).filter((word, i, all) => !isOut(word) && all[i - 1] !== OUT);
  return ['./run.sh', scriptOf(experiment, words[at] ?? ''), ...options].join(' ');
}

const OUT = '--out';

function isOut(word: string): boolean {
  return word === OUT || word.startsWith(`${OUT}=`);
}

/** The script that runs the program, or for a record made before it moved, the experiment's. */
function scriptOf(experiment: string, program: string): string {
  const scripts = Object.entries(packageJson.scripts);
  const [name] = scripts.find(([, command]) => command === `node ${program}`) ?? [];
  return name ?? scripts.find(([one]) => one === `bench:${experiment}`)?.[0] ?? experiment;
}
