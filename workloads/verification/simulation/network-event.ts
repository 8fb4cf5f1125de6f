/** What a recording of a run hears of (explorer/recording.ts). */
import type { ExplorerRequest } from '../explorer/world/message.ts';

/** What happens to a message, or to a process: for recordings. */
export type NetworkEvent =
  | {
      readonly kind: 'sent' | 'given up';
      readonly process: string;
      readonly request: ExplorerRequest;
    }
  | {
      readonly kind: 'applied' | 'applied again';
      readonly process: string;
      readonly request: ExplorerRequest;
      /** What was answered, or the code of an error. */
      readonly answer: unknown;
      /** Whether its sender hears of it. */
      readonly isHeard: boolean;
    }
  | { readonly kind: 'died' | 'paused'; readonly process: string };
