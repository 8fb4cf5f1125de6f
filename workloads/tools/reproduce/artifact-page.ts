/**
 * ARTIFACT.md, for those who evaluate the artifact: what is claimed, which experiment shows it,
 * what that takes, and how to compare. Made from the tables of claims and experiments;
 * `./run.sh artifact` writes it, and a test compares it.
 */
import { type Claim, claimsOf, EXPERIMENTS, referenceRecords, toleranceText } from '#results';
import { durationText } from '../../harness/experiment/plan.ts';
import { type PlannedRun, planOf } from './reproducing.ts';

/** @param helpOf what a script prints with `--help` */
export async function artifactPage(helpOf: (script: string) => Promise<string>): Promise<string> {
  const claims = claimsOf(referenceRecords());
  const plan = await planOf(
    claims.map(({ id }) => id),
    'quick',
    helpOf,
  );
  const seconds = plan.reduce((sum, run) => sum + run.seconds, 0);
  return [
    HEAD,
    section('Major claims', CLAIMS_TEXT, claimsTable(claims)),
    section('Experiments', experimentsText(seconds), experimentsTable(claims, plan)),
    TAIL,
  ].join('\n');
}

const HEAD = `# Artifact

<!-- Written by \`./run.sh artifact\` from results/report/all/claims.ts and experiments.ts. -->

For those who evaluate the artifact: what is claimed, which experiment shows it, what it takes, and how to compare. The
paper is Peng and Dabek, _Large-scale Incremental Processing Using Distributed Transactions and Notifications_, OSDI 2010.

## Getting started

\`\`\`sh
./run.sh reproduce --profile smoke  # does everything work? minutes; a smoke run judges nothing
./run.sh reproduce                  # all claims, the cheapest experiment first
\`\`\`

Your own time is that of two commands and of reading one page. The second command prints a table, claim by claim, and
writes it to \`results/runs/reproduced/index.html\`. Exit code 0: no claim was missed. Interrupt it when you like: the same
command continues. \`--minutes 15\` runs what fits, and names the rest; \`--only\` takes claims by their names.

The hardware is any machine with two cores; all reference runs are of one with two cores and 24 GB. The
software is Linux or macOS, and Node 20 or newer with npm; everything else is installed by the first call, about 790 MB. On a bare Debian 13,
[.ci/debian.sh](.ci/debian.sh) makes the environment. Without a network, \`./run.sh archive\` packs what an installation
needs, elsewhere. HBase needs Java and, once, Maven; without it, its claims are named as not run.
`;

function section(title: string, text: string, rows: string): string {
  return `## ${title}\n\n${text}\n\n${rows}\n`;
}

const CLAIMS_TEXT =
  'Each name is a word for `--only`. The reference is a run of this project, in\n' +
  '[results/reference](results/reference); where it does not confirm the paper, the claim is what it found.';

function claimsTable(claims: readonly Claim[]): string {
  return table(
    ['Name', 'The paper says', 'The paper', 'Reference', 'Its verdict', 'Experiment'],
    claims.map(({ id, says, paper, finding, experiments }) => [
      `\`${id}\``,
      says,
      paper,
      finding?.measured ?? 'not measured',
      finding?.verdict ?? 'open',
      experiments.join(', '),
    ]),
  );
}

function experimentsText(seconds: number): string {
  return (
    `All of them take about ${durationText(seconds)} on two cores, in this order. Memory and disk are the most that a run of\n` +
    'the default size had at a time, all its processes together.'
  );
}

function experimentsTable(claims: readonly Claim[], plan: readonly PlannedRun[]): string {
  return table(
    ['Experiment', 'Shows', 'Command', 'Time', 'Memory', 'Disk', 'Needs also'],
    plan.map(({ name, seconds }) => {
      const { about, script, options, needs, memoryMb, diskMb, reference } = EXPERIMENTS[name];
      const shown = claims.filter(({ experiments }) => experiments.includes(name));
      return [
        `${name}: [${about}](results/reference/${reference})`,
        shown.map(({ id }) => `\`${id}\``).join(', '),
        `\`./run.sh ${[script, ...options].join(' ')}\``,
        durationText(seconds),
        megabytes(memoryMb),
        megabytes(diskMb),
        needs ?? 'nothing',
      ];
    }),
  );
}

function megabytes(count: number | null): string {
  return count === null ? 'not measured yet' : `${count} MB`;
}

const TAIL = `## How to compare

A claim is reproduced if it holds as the paper states it (\`as the paper\`) or, if not, if your numbers are those of the
reference within the tolerance (\`as the reference\`). Else it is \`MISSED\`. \`not judged\`: the run was too small, or did
not reach what the claim is about; \`not run\`: the reason follows. One machine is not a cluster: absolute numbers differ
from one machine to another, and the claims are about ratios.

${table(
  ['Claim', 'As the paper if; else as the reference if'],
  claimsOf(new Map()).map((claim) => [`\`${claim.id}\``, toleranceText(claim)]),
)}

Two runs are compared metric by metric, with intervals, by \`./run.sh compare figure-8 <your run>\`; see
[docs/comparing.md](docs/comparing.md). Each run is a folder: \`run.json\` is the record, of the shape
[docs/run.schema.json](docs/run.schema.json), and charts, tables and the page are made from it alone.

## What to expect

- Pages begin with what makes a run doubtful, such as a clock that was set or other work on the machine.
- At the default size, \`waiting\` rests on fewer than 30 documents and is not judged: \`./run.sh reproduce --only waiting
  --profile standard\` judges it, in 20 minutes.
- The first call takes minutes for the installation, and \`./run.sh fetch\` more for HBase.
- \`standard\` is the size of most reference runs: four times as long, with intervals that are narrower.

## Reuse

[CONTRIBUTING.md](CONTRIBUTING.md) says how to add a store, an observer or a workload, and
[docs/library.md](docs/library.md) how to use the engine in another project. The license is Apache 2.0.
`;

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}
