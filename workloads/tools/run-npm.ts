/** Runs npm, which some tools need; it may be missing where Node came without it. */
import { execa, ExecaError, type Options } from 'execa';
import { UsageError } from '#harness';

/**
 * Resolves with what npm prints to stdout.
 * @param purpose continues "npm is needed to": "pack the engine"
 * @throws UsageError if npm is not on PATH
 */
export async function runNpm(
  words: readonly string[],
  purpose: string,
  options: Options,
): Promise<string> {
  try {
    // npm would leave a cache of its compiled code in the folder for temporary files.
    const env = { ...options.env, NODE_DISABLE_COMPILE_CACHE: '1' };
    const { stdout } = await execa('npm', words, { ...options, env });
    return String(stdout ?? '');
  } catch (error) {
    if (!(error instanceof ExecaError) || error.code !== 'ENOENT') throw error;
    throw new UsageError(
      `npm is needed to ${purpose}, and is not on PATH; it usually comes with Node.`,
      { cause: error },
    );
  }
}
