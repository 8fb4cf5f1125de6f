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
  const kept = words.filter((word, i) => !isOut(word) && words[i - 1] !== OUT);
  if (kept[0] === './run.sh') return kept.join(' ');
  // Records from before 2026-11-23 name the program.
  const at = kept.findIndex((word) => word.endsWith('.ts'));
  return ['./run.sh', scriptOf(experiment, kept[at] ?? ''), ...kept.slice(at + 1)].join(' ');
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
