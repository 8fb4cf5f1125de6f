/**
 * The one shape of every script that measures or proves.
 *
 *   1. Parse the options (runCommand); those that were not given get the values of the profile. An
 *      option that asks for something other than a run is answered, and the script ends.
 *   2. Refuse a machine, disk or store with which the run cannot begin; print the plan, with the
 *      time to expect.
 *   3. Record (recordRun) while `measure` runs: progress on standard error, temporary files in a
 *      folder that is removed at the end, even if the run fails or is interrupted.
 *   4. Print the tables, the check, the targets and the path of the page on standard output; with
 *      `--json`, the record alone.
 *
 * Exit codes, beyond those of `runCommand`: 1 if the check failed, which includes a proof that
 * found a violation, and with `--fail-on-target` if a target was not met. An interrupted run keeps
 * what it had described until then, says so in its record, and exits with 130 or 143.
 */
import { mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import {
  type FindingsParts,
  recordRun,
  type Recording,
  type RunRecord,
  type Subject,
  UsageError,
} from '#results';
import {
  type Example,
  flagOf,
  type Options,
  runCommand,
  type Values,
} from '../command-line/command-line.ts';
import { type Progress, startProgress } from '../command-line/progress.ts';
import { ENGINE_OPTIONS } from '../engine-settings.ts';
import { parametersOf } from '../parameters.ts';
import { refuseMissingStore } from '../stores/index.ts';
import { refuseFullDisk } from './disk-space.ts';
import { type Plan, planLine } from './plan.ts';
import { profileOption, type ProfileName, sized, type Sized, type Sizes } from './profiles.ts';
import { withDefaults } from './profiles.ts';
import { type PrintedTable, resultLines } from './result-lines.ts';
import { resultOptions, runFolder } from './shared-options.ts';

export interface Experiment<O extends Options, S extends object> {
  /** The script by its name in package.json: `bench:oracle`. */
  readonly script: string;
  /** The name of its records. Default: that of the script, without `bench:`, and `-` for `:`. */
  readonly name?: string;
  /** The subject of its page; null for an experiment that has points instead of findings. */
  readonly subject: Subject | null;
  /**
   * The name and the subject of a run whose options ask another question than the script's own;
   * undefined if they do not.
   */
  readonly variant?: (
    options: Sized<O, S>,
  ) => { readonly name: string; readonly subject: Subject } | undefined;
  readonly description: string;
  readonly sizes: Sizes<S>;
  readonly options: O;
  readonly examples: readonly Example[];
  /** Default: true, except for a proof, which has a verdict instead. */
  readonly hasTargets?: false;
  /** Throws a UsageError if options contradict each other. */
  readonly plan: (options: Sized<O, S>) => Plan;
  /** Throws a UsageError if the run cannot begin on this machine. */
  readonly refuse?: (options: Sized<O, S>) => Promise<void>;
  /** The table that is printed if there are no findings. */
  readonly summary?: (record: RunRecord) => PrintedTable;
  /** Options that ask for something other than a run, and the answers, which leave no record. */
  readonly instead?: { readonly [K in keyof O]?: (options: Sized<O, S>) => Promise<void> };
}

export interface Measuring extends Recording {
  readonly progress: Progress;
  /** Aborted by ctrl-C or SIGTERM: clean up, and return or throw. */
  readonly signal: AbortSignal;
  /** An empty folder for databases and other temporary files. */
  readonly work: string;
}

/** Resolves to what was found; to null if the record describes it already. */
type Measure<O extends Options, S> = (
  options: Sized<O, S>,
  measuring: Measuring,
) => Promise<FindingsParts | null>;

export async function runExperiment<const O extends Options, S extends object>(
  experiment: Experiment<O, S>,
  measure: Measure<O, S>,
): Promise<void> {
  const { script, description, examples, sizes, plan: planOf } = experiment;
  const name = experiment.name ?? script.replace(/^bench:/, '').replace(':', '-');
  const options = {
    profile: profileOption((profile) => planOf(sized(typical(experiment), sizes, profile)).seconds),
    ...withDefaults(experiment.options, sizes),
    out: runFolder(name),
    ...resultOptions(experiment.subject?.kind !== 'proof' && experiment.hasTargets !== false),
  };
  const ignoredInFiles = Object.keys(ENGINE_OPTIONS).filter((key) => !(key in options));
  const command = { script, description, options, examples, ignoredInFiles };
  await runCommand(command, async (given, { signal, commandLine }) => {
    const { profile, out, json, failOnTarget } = given;
    const settings = sized(given as Values<O>, sizes, profile as ProfileName);
    const answer = answerInstead(experiment, settings, json);
    if (answer !== undefined) return answer(settings);
    const plan = planOf(settings);
    await experiment.refuse?.(settings);
    const store = onlyStoreOf(settings);
    if (store !== undefined) await refuseMissingStore(store);
    if (plan.diskBytes !== undefined) await refuseFullDisk(out, plan.diskBytes);
    process.stderr.write(`${planLine(plan, out)}\n`);
    const asked = experiment.variant?.(settings) ?? { name, subject: experiment.subject };
    const described = { experiment: asked.name, subject: asked.subject, commandLine, signal };
    const header = { ...headerOf(plan, settings), ...described };
    const { run, page } = await recordRun(out, header, (recording) =>
      measureIn(path.join(out, 'work'), (surroundings) =>
        measure(settings, { ...recording, ...surroundings, signal }),
      ),
    );
    print(run.record, { page, isJson: json, summary: experiment.summary });
    process.exitCode = exitCodeOf(run.record, failOnTarget === true);
    return undefined;
  });
}

/** The answer to an option that asks for something other than a run; undefined without one. */
function answerInstead<O extends Options, S extends object>(
  { instead = {} }: Experiment<O, S>,
  settings: Sized<O, S>,
  isJson: boolean,
): ((options: Sized<O, S>) => Promise<void>) | undefined {
  const given = Object.entries(settings).filter(([, value]) => Boolean(value));
  const key = Object.keys(instead).find((one) => given.some(([name]) => name === one));
  if (key === undefined) return undefined;
  if (isJson) {
    throw new UsageError(
      `--json prints the record of a run, but with ${flagOf(key)} there is none.`,
    );
  }
  return instead[key];
}

/** The defaults, the same on every machine. */
function typical<O extends Options>({ options }: { readonly options: O }): Values<O> {
  const entries = Object.entries(options).map(([key, option]) => [
    key,
    option.typical ?? option.fallback(),
  ]);
  return Object.fromEntries(entries) as Values<O>;
}

/** The only value of `--store`. Of several, a run measures those that are there. */
function onlyStoreOf(settings: object): string | undefined {
  const stores = 'store' in settings ? [settings.store].flat() : [];
  const [store] = stores;
  return stores.length === 1 && typeof store === 'string' ? store : undefined;
}

interface Settings {
  readonly profile: RunRecord['profile'];
  readonly seed?: unknown;
  readonly repeats?: unknown;
}

function headerOf(plan: Plan, settings: Settings) {
  const { seed, repeats } = settings;
  return {
    profile: settings.profile,
    parameters: plan.parameters ?? parametersOf(settings),
    seed: plan.seed ?? (typeof seed === 'number' ? seed : 0),
    repeats: plan.repeats ?? (typeof repeats === 'number' ? repeats : 1),
    store: plan.store,
    limitations: plan.limitations,
  };
}

/**
 * Gives `body` a progress display, which it ends, and an empty folder, which it removes, also if
 * the process exits.
 */
async function measureIn<T>(
  work: string,
  body: (surroundings: Pick<Measuring, 'progress' | 'work'>) => Promise<T>,
): Promise<T> {
  const clean = (): void => removeOrSay(work);
  process.once('exit', clean);
  mkdirSync(work, { recursive: true });
  const progress = startProgress();
  try {
    return await body({ progress, work });
  } finally {
    progress.end();
    clean();
    process.off('exit', clean);
  }
}

/** What cannot be removed is no reason to lose what was measured, or an error that came first. */
function removeOrSay(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    process.stderr.write(`The temporary files in ${folder} cannot be removed: ${reason}.\n`);
  }
}

interface Printing {
  readonly page: string;
  readonly isJson: boolean;
  readonly summary: ((record: RunRecord) => PrintedTable) | undefined;
}

function print(record: RunRecord, { page, isJson, summary }: Printing): void {
  const table = record.findings === null ? summary?.(record) : undefined;
  const lines = isJson
    ? [JSON.stringify(record, null, 2)]
    : [...resultLines(record, table), '', `Report: ${page}`];
  process.stdout.write(`${lines.join('\n')}\n`);
}

/** The exit code of a run without an error. Prints a sentence about targets that make it 1. */
function exitCodeOf(record: RunRecord, failOnTarget: boolean): number {
  const { findings, crawl, points, targets } = record;
  const isWrong = [findings, crawl, ...points].some((part) => part?.check.passed === false);
  const missed = targets.filter(({ met }) => met === false);
  if (failOnTarget && missed.length > 0) {
    const names = missed.map(({ name }) => name).join(', ');
    process.stderr.write(`--fail-on-target: NOT met: ${names}.\n`);
  }
  return isWrong || (failOnTarget && missed.length > 0) ? 1 : 0;
}
