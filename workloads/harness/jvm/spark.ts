/** Spark: `spark-submit` on PATH, or a Python with pyspark. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { javaVersion } from '#engine';

/** Where packages of vendors keep the configuration. */
const PACKAGED_CONFIGURATION = '/etc/spark/conf';

/** The command that runs a script of Spark's here, or a sentence that says what is missing. */
export async function findSpark(): Promise<readonly string[] | string> {
  if ((await javaVersion(process.env)) === undefined) {
    return 'Spark needs Java 17 or newer, and none runs from JAVA_HOME, or PATH if that is not set: install one.';
  }
  if (await runs('spark-submit', ['--version'])) return ['spark-submit'];
  const python = variable('PYSPARK_DRIVER_PYTHON') ?? 'python3';
  if (await runs(python, ['-c', 'import pyspark'])) return [python];
  return 'Spark is missing: put spark-submit on PATH, or install the Python package pyspark.';
}

/**
 * Whether Spark runs on this machine: the settings, its spark-defaults.conf and MASTER name no
 * master, or the first of them that does (Spark's own order) names a local one.
 */
export function isSparkLocal(settings: Readonly<Record<string, string>>): boolean {
  const master = settings['spark.master'] ?? defaultMaster() ?? variable('MASTER');
  return master === undefined || master.startsWith('local');
}

function defaultMaster(): string | undefined {
  const files = configurationFolders().map((folder) => path.join(folder, 'spark-defaults.conf'));
  const file = files.find((name) => existsSync(name));
  if (file === undefined) return undefined;
  return /^\s*spark\.master(?:\s*[=:]\s*|\s+)(\S+)/m.exec(readFileSync(file, 'utf8'))?.[1];
}

/** Where Spark may look for its configuration; the first folder that has one counts. */
function configurationFolders(): readonly string[] {
  const named = variable('SPARK_CONF_DIR');
  if (named !== undefined) return [named];
  const home = variable('SPARK_HOME');
  if (home !== undefined) return [path.join(home, 'conf')];
  const folders = (process.env['PATH'] ?? '').split(path.delimiter);
  const bin = folders.find((folder) => existsSync(path.join(folder, 'spark-submit')));
  return [...(bin === undefined ? [] : [path.join(bin, '../conf')]), PACKAGED_CONFIGURATION];
}

/** Undefined also for a variable that is set to nothing. */
function variable(name: string): string | undefined {
  const value = process.env[name];
  return value === '' ? undefined : value;
}

async function runs(program: string, words: readonly string[]): Promise<boolean> {
  const { execa } = await import('execa');
  return !(await execa(program, words, { reject: false, stdin: 'ignore' })).failed;
}
