/** For tests on the official emulator, which users may not have. */
import { type Emulator, PercolatorError, startEmulator } from '#engine';

/** A new emulator, whatever the environment names; or why there is none, in a sentence. */
export async function emulatorOrReason(): Promise<Emulator | string> {
  const environment = { ...process.env, BIGTABLE_EMULATOR_HOST: undefined };
  return startEmulator({ environment }).catch((error: unknown) => {
    if (error instanceof PercolatorError) return error.message;
    throw error;
  });
}
