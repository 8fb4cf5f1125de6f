/** The remote store, and the official emulator as a child process. */
export { type Emulator, type EmulatorOptions, startEmulator } from './emulator.ts';
export { whyNoEmulator } from './emulator.ts';
export { openRemote, type RemoteOptions } from './open-remote.ts';
