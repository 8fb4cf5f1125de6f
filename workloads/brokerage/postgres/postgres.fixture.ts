/** Whether a PostgreSQL of our own runs on this machine, found out by trying: tests that need one say why they do not run. */
import { UsageError } from '#results';
import { startPrivateCluster } from './private-cluster.ts';

/** As `skip` of a test: false, or the reason in one line. */
export async function whyNoPostgres(): Promise<string | false> {
  try {
    const cluster = await startPrivateCluster();
    await cluster[Symbol.asyncDispose]();
    return false;
  } catch (error) {
    if (error instanceof UsageError) return error.message;
    throw error;
  }
}
