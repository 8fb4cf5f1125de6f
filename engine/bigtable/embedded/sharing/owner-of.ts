/** Asks which process owns a store: for programs that kill the owner on purpose. */
import { storeIn } from '../folder.ts';
import { Connection } from './connection.ts';
import { socketOf } from './socket-place.ts';

const GREETING_MS = 250;
const NO_EVENTS = { onAnswer: () => {}, onUnsent: () => {}, onLost: () => {} };

/** The owner's process id; undefined if there is none, or it is stopped. */
export async function ownerOf(folder: string): Promise<number | undefined> {
  const connection = await Connection.open(
    socketOf(storeIn(folder) ?? folder),
    GREETING_MS,
    NO_EVENTS,
  );
  connection?.end();
  return connection?.greeting.process;
}
