/** Spark: `spark-submit` on PATH, or a Python with pyspark. */
import { runs } from './maven.ts';

/** The command that runs a script of Spark's here, or a sentence that says what is missing. */
export async function findSpark(): Promise<readonly string[] | string> {
  if (!(await runs('java', ['-version']))) {
    return 'Spark needs Java 17 or newer, and there is no java on PATH: install one.';
  }
  if (await runs('spark-submit', ['--version'])) return ['spark-submit'];
  const python = process.env['PYSPARK_DRIVER_PYTHON'] ?? 'python3';
  if (await runs(python, ['-c', 'import pyspark'])) return [python];
  return 'Spark is missing: put spark-submit on PATH, or install the Python package pyspark.';
}
