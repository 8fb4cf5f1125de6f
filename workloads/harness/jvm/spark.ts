/** Spark: `spark-submit` on PATH, or a Python with pyspark. */
import { javaVersion } from '#engine';

/** The command that runs a script of Spark's here, or a sentence that says what is missing. */
export async function findSpark(): Promise<readonly string[] | string> {
  if ((await javaVersion(process.env)) === undefined) {
    return 'Spark needs Java 17 or newer, and there is no java on PATH: install one.';
  }
  if (await runs('spark-submit', ['--version'])) return ['spark-submit'];
  const named = process.env['PYSPARK_DRIVER_PYTHON'] ?? '';
  const python = named === '' ? 'python3' : named;
  if (await runs(python, ['-c', 'import pyspark'])) return [python];
  return 'Spark is missing: put spark-submit on PATH, or install the Python package pyspark.';
}

async function runs(program: string, words: readonly string[]): Promise<boolean> {
  const { execa } = await import('execa');
  return !(await execa(program, words, { reject: false, stdin: 'ignore' })).failed;
}
