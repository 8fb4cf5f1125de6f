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
  type Check,
  counted,
  type FindingsParts,
  formatCount,
  noNumbers,
  type Recording,
  recordRun,
  type RunRecord,
  type Subject,
  UsageError,
} from '#results';
import {
  type Example,
  flagOf,
  type ScriptOptions,
  runCommand,
  type OptionValues,
} from '../command-line/command-line.ts';
import { type Progress, startProgress } from '../command-line/progress.ts';
import { ENGINE_OPTIONS } from '../engine-settings.ts';
import { checkStoreName, refuseMissingStore } from '../stores.ts';
import {
  parametersOf,
  planLine,
  type ProfileName,
  profileOption,
  refuseFullDisk,
  type RunPlan,
  sized,
  type Sized,
  type Sizes,
  withDefaults,
} from './plan.ts';
import { gatherHosts, refuseUnreachable, type RunHosts } from '../hosts/coordinator.ts';
import { isInside, obeyOutside, runInside, whyNoHosts } from '../hosts/inside.ts';
import type { RemoteHost } from '../processes/program.ts';
import { WatchedRun, watchedProgress } from '../watch/live.ts';
import { keepingDoubts } from './doubts.ts';
import { keeping } from './keeping.ts';
import { resultLines } from './result-lines.ts';
import { hostsOptions, resultOptions, runFolder } from './shared-options.ts';

export interface Experiment<O extends ScriptOptions, S extends object> {
  /** The script by its name in package.json: `bench:oracle`. */
  readonly script: string;
  /** The name of its records. Default: that of the script, without `bench:`, and `-` for `:`. */
  readonly name?: string;
  /** The subject of its page. */
  readonly subject: Subject;
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
  readonly plan: (options: Sized<O, S>) => RunPlan;
  /** Throws a UsageError if the run cannot begin on this machine. */
  readonly refuse?: (options: Sized<O, S>) => Promise<void>;
  /**
   * The option because of which the run needs namespaces as hosts, if there is one: it then takes
   * place inside (hosts/inside.ts).
   */
  readonly needsHosts?: (options: Sized<O, S>) => string | undefined;
  /**
   * Whether it has `hostsOptions`, and places its processes on the hosts that it is given
   * (hosts/coordinator.ts).
   */
  readonly isAcrossHosts?: true;
  /** Why it has not, as the end of a sentence that begins with its name. */
  readonly isOnOneHost?: string;
  /** Options that ask for something other than a run, and the answers, which leave no record. */
  readonly instead?: { readonly [K in keyof O]?: (options: Sized<O, S>) => Promise<void> };
}

export interface Measuring extends Recording {
  readonly progress: Progress;
  /** Aborted by ctrl-C or SIGTERM: clean up, and return or throw. */
  readonly signal: AbortSignal;
  /** An empty folder for databases and other temporary files. */
  readonly work: string;
  /** Other machines for the processes of the run; none if it is on this one. */
  readonly hosts: readonly RemoteHost[];
}

/** Resolves to what was found. */
type MeasureRun<O extends ScriptOptions, S> = (
  options: Sized<O, S>,
  measuring: Measuring,
) => Promise<FindingsParts>;

export async function runExperiment<const O extends ScriptOptions, S extends object>(
  experiment: Experiment<O, S>,
  measure: MeasureRun<O, S>,
): Promise<void> {
  const { script, description, examples, sizes, plan: planOf } = experiment;
  const name = experiment.name ?? script.replace(/^bench:/, '').replace(':', '-');
  const options = {
    profile: profileOption((profile) => planOf(sized(typical(experiment), sizes, profile)).seconds),
    ...withDefaults(experiment.options, sizes),
    out: runFolder(name),
    ...resultOptions(experiment.subject.kind !== 'proof' && experiment.hasTargets !== false),
  };
  const ignoredInFiles = Object.keys(ENGINE_OPTIONS).filter((key) => !(key in options));
  const { isOnOneHost: because } = experiment;
  const refused = because && { hosts: `--hosts: ${script} ${because}.` };
  const command = {
    script,
    description,
    options,
    examples,
    ignoredInFiles,
    ...(refused && { refused }),
  };
  await runCommand(command, async (given, { signal, commandLine }) => {
    const { profile, out, json, failOnTarget, watch } = given;
    const settings = sized(given as OptionValues<O>, sizes, profile as ProfileName);
    const answer = answerInstead(experiment, settings, json);
    if (answer !== undefined) return answer(settings);
    const plan = planOf(settings);
    await experiment.refuse?.(settings);
    const store = onlyStoreOf(settings);
    if (store !== undefined) await refuseMissingStore(store);
    if (plan.diskBytes !== undefined) await refuseFullDisk(out, plan.diskBytes);
    const needing = experiment.needsHosts?.(settings);
    if (needing !== undefined) {
      if (watch !== undefined) throw new UsageError(unwatchable(needing));
      if (!isInside()) return goInside(needing, signal);
      obeyOutside();
    }
    process.stderr.write(`${planLine(plan, out)}\n`);
    const asked = experiment.variant?.(settings) ?? { name, subject: experiment.subject };
    const described = { experiment: asked.name, subject: asked.subject, commandLine, signal };
    await using hosts = experiment.isAcrossHosts && (await hostsFor(settings, signal));
    await using watched = watch === undefined ? undefined : await watchedRun(watch, out);
    const onRecord = watched?.run.onRecord;
    const header = { ...headerOf(plan, settings), ...described, onRecord };
    const { run, page } = await recordRun(out, header, (recording) =>
      measureIn({ work: path.join(out, 'work'), watched: watched?.run }, (surroundings) => {
        const measuring = { ...recording, ...surroundings, signal, hosts: [] };
        return keepingDoubts(recording, () =>
          keepingTimeline(recording, watched?.run, () =>
            onHosts(hosts, measuring, (all) => measure(settings, all)),
          ),
        );
      }),
    );
    print(run.record, { page, isJson: json });
    process.exitCode = exitCodeOf(run.record, failOnTarget === true);
    return undefined;
  });
}

function unwatchable(option: string): string {
  return `--watch has no effect with ${option}: the run is in a network of its own, which no browser reaches.`;
}

/** The page of the run; at its end, the viewers receive the report. */
async function watchedRun(
  port: number,
  out: string,
): Promise<AsyncDisposable & { readonly run: WatchedRun }> {
  const run = await WatchedRun.open(port, (line) => void process.stderr.write(`${line}\n`));
  const line = `The run has ended. This is its report, which is also in ${out}.`;
  return { run, [Symbol.asyncDispose]: () => run.end(line) };
}

/** Puts the seconds of a watched run into its record, whatever ends it. */
async function keepingTimeline<T>(
  { run }: Recording,
  watched: WatchedRun | undefined,
  measure: () => Promise<T>,
): Promise<T> {
  if (watched === undefined) return measure();
  return keeping(measure, () => {
    watched.phase(); // The last one ends here.
    run.describe({ timeline: watched.timeline });
  });
}

/**
 * The hosts that `--hosts` asks for, when all have joined; undefined if it does not.
 * @throws UsageError as `gatherHosts`, or if the store cannot be reached from all of them
 */
async function hostsFor(settings: object, signal: AbortSignal): Promise<RunHosts | undefined> {
  const { hosts: count = 0, listen } = settings as Partial<Asked>;
  if (count === 0) {
    if (listen === undefined) return undefined;
    throw new UsageError('--listen has an effect only with --hosts, but no other host is awaited.');
  }
  const name = onlyStoreOf(settings);
  const store = checkStoreName(name ?? 'emulator');
  refuseUnreachable(store, []);
  const say = (line: string): void => void process.stderr.write(`${line}\n`);
  const gathered = await gatherHosts({ count, listen, signal, say });
  try {
    refuseUnreachable(store, gathered.hosts);
    return gathered;
  } catch (error) {
    await gathered[Symbol.asyncDispose]();
    throw error;
  }
}

type Asked = { readonly [K in keyof typeof HOSTS]: OptionValues<typeof HOSTS>[K] };

const HOSTS = hostsOptions();

/** Adds to what is found which host ran what. If one is lost, that is why the run has failed. */
async function onHosts(
  hosts: RunHosts | undefined,
  measuring: Measuring,
  measure: (measuring: Measuring) => Promise<FindingsParts>,
): Promise<FindingsParts> {
  if (hosts === undefined) return measure(measuring);
  const { keep } = measuring;
  const signal = AbortSignal.any([measuring.signal, hosts.lost]);
  const named = (found: FindingsParts): FindingsParts =>
    found.tables.length === 0 ? found : { ...found, tables: [...found.tables, hosts.table()] };
  const failIfLost = (): void => {
    if (!measuring.signal.aborted) hosts.lost.throwIfAborted();
  };
  try {
    const given = {
      ...measuring,
      signal,
      hosts: hosts.hosts,
      keep: (found: FindingsParts) => keep(named(found)),
    };
    return named(await measure(given));
  } catch (error) {
    failIfLost();
    throw error;
  } finally {
    failIfLost();
  }
}

/** @throws UsageError if this machine has no hosts */
async function goInside(option: string, signal: AbortSignal): Promise<void> {
  const why = await whyNoHosts();
  if (why !== undefined) throw new UsageError(`${option}: ${why}.`);
  process.exitCode = await runInside(signal);
}

/** The answer to an option that asks for something other than a run; undefined without one. */
function answerInstead<O extends ScriptOptions, S extends object>(
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
function typical<O extends ScriptOptions>({ options }: { readonly options: O }): OptionValues<O> {
  const entries = Object.entries(options).map(([key, option]) => [
    key,
    option.typical ?? option.fallback(),
  ]);
  return Object.fromEntries(entries) as OptionValues<O>;
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

function headerOf(plan: RunPlan, settings: Settings) {
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
  { work, watched }: { readonly work: string; readonly watched: WatchedRun | undefined },
  body: (surroundings: Pick<Measuring, 'progress' | 'work'>) => Promise<T>,
): Promise<T> {
  const clean = (): void => removeOrSay(work);
  process.once('exit', clean);
  mkdirSync(work, { recursive: true });
  const own = startProgress();
  const progress = watched === undefined ? own : watchedProgress(own, watched);
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
}

function print(record: RunRecord, { page, isJson }: Printing): void {
  const lines = isJson
    ? [JSON.stringify(record, null, 2)]
    : [...resultLines(record), '', `Report: ${page}`];
  process.stdout.write(`${lines.join('\n')}\n`);
}

/** The exit code of a run without an error. Prints a sentence about targets that make it 1. */
function exitCodeOf(record: RunRecord, failOnTarget: boolean): number {
  const { findings, targets } = record;
  const isWrong = !findings.check.passed;
  const missed = targets.filter(({ met }) => met === false);
  if (failOnTarget && missed.length > 0) {
    const names = missed.map(({ name }) => name).join(', ');
    process.stderr.write(`--fail-on-target: NOT met: ${names}.\n`);
  }
  return isWrong || (failOnTarget && missed.length > 0) ? 1 : 0;
}

/**
 * Measures a part that throws if its check fails, and resolves with the result. If it throws, and
 * not because of an interrupt, the parts before it no longer count either: the record then says why
 * there are no numbers.
 */
export async function measureChecked<T>(
  { keep, signal }: Pick<Measuring, 'keep' | 'signal'>,
  measure: () => Promise<T>,
): Promise<T> {
  try {
    return await measure();
  } catch (error) {
    if (!signal.aborted) keep(noNumbers(error instanceof Error ? error.message : String(error)));
    throw error;
  }
}

export interface Proof {
  /** What is looked at, in the plural: "runs". */
  readonly unit: string;
  readonly planned: number;
  readonly done: number;
  /** What a violation is, as the end of a sentence: "broke a rule". */
  readonly fault: string;
  /** Each violation by its place: "seed 17 (lost update)". */
  readonly found: readonly string[];
}

const NAMED_MAX = 10;

/**
 * The verdict of a script that proves, in the words of every such script. A proof holds only if
 * everything that was planned has been looked at: an interrupted one has proven nothing, even if it
 * met no violation.
 */
export function verdictOf({ unit, planned, done, fault, found }: Proof): Check {
  const all = counted(planned, unit);
  const whole = done === planned ? all : `the ${formatCount(done)} of ${all} that ended`;
  if (found.length === 0) return { passed: done === planned, detail: `none of ${whole} ${fault}` };
  const named = found.slice(0, NAMED_MAX);
  const more = found.length > named.length ? `, and ${found.length - named.length} more` : '';
  const detail = `${formatCount(found.length)} of ${whole} ${fault}: ${named.join(', ')}${more}`;
  return { passed: false, detail };
}
