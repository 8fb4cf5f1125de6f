/**
 * `./run.sh references`: makes the reference runs again, one after the other, each by the command
 * in its own record (remaking.ts).
 *
 * Exit codes: 0 done; 1 a run failed, or its check did, and the old one stays; 2 a mistake on the
 * command line, or uncommitted changes; 130 or 143 interrupted, and the same command continues.
 */
import path from 'node:path';
import { flag, integer, runCommand, text, UsageError } from '#harness';
import { findRuns, REFERENCE_FOLDER, RUNS_FOLDER } from '#results';
import { durationText } from '../../harness/experiment/plan.ts';
import { type Reference, referencesOf, Remaking } from './remaking.ts';

const specification = {
  script: 'references',
  description:
    'Makes the runs in results/reference again, the shortest first, each by the command in its ' +
    'record, and replaces those whose new run finished with its check passed. Those of this code ' +
    'are left as they are, so that an interrupted call continues. It takes hours, in which the ' +
    'machine must do nothing else; pages in docs/ that cite a number are changed by hand.',
  options: {
    only: text({
      description: 'names of folders in results/reference, separated by commas',
      defaultText: 'all',
      placeholder: 'name,...',
    }),
    minutes: integer({
      description: 'begin no run that would end later',
      defaultText: 'no limit',
      min: 1,
      max: 100_000,
    }),
    list: flag({ description: 'only say which would be made, and how long each took' }),
  },
  examples: [
    { command: './run.sh references --list', does: 'Lists the runs whose code has changed since.' },
    { command: './run.sh references --only figure-7,web-index', does: 'Makes two of them again.' },
  ],
} as const;

await runCommand(specification, async ({ only, minutes, list }, { signal }) => {
  const remaking = new Remaking(REFERENCE_FOLDER, path.join(RUNS_FOLDER, 'references'));
  const wanted = named(referencesOf(findRuns(REFERENCE_FOLDER)), only);
  const stale = wanted.filter((reference) => !remaking.isCurrent(reference));
  tellPlan(stale, wanted.length - stale.length);
  if (list) return;
  remaking.refuseUncommitted();
  const endMs = minutes === undefined ? Infinity : performance.now() + minutes * 60_000;
  for (const reference of stale) {
    if (performance.now() + reference.seconds * 1_000 > endMs) continue;
    process.stderr.write(`${reference.name}: ./run.sh ${reference.words.join(' ')}\n`);
    const reason = await remaking.make(reference, signal);
    const said = reason === null ? 'made again' : `kept as it was: ${reason}`;
    process.stdout.write(`${reference.name}: ${said}\n`);
    if (reason !== null) process.exitCode = 1;
  }
});

function named(all: readonly Reference[], only: string | undefined): readonly Reference[] {
  if (only === undefined) return all;
  const names = only.split(',').map((name) => name.trim());
  const unknown = names.find((name) => !all.some((one) => one.name === name));
  if (unknown !== undefined) {
    throw new UsageError(
      `--only must name runs in results/reference (${all.map(({ name }) => name).join(', ')}), but names ${JSON.stringify(unknown)}.`,
    );
  }
  return all.filter(({ name }) => names.includes(name));
}

function tellPlan(stale: readonly Reference[], currentCount: number): void {
  const seconds = stale.reduce((sum, one) => sum + one.seconds, 0);
  for (const { name, words, seconds: each } of stale) {
    process.stdout.write(`${name} (${durationText(each)}): ./run.sh ${words.join(' ')}\n`);
  }
  process.stdout.write(
    `${stale.length} to be made again, about ${durationText(seconds)}; ${currentCount} are of this code.\n`,
  );
}
