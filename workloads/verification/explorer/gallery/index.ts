/** The gallery, in the order in which the page shows it. */
import { ANOMALIES } from './anomalies.ts';
import { COMMITTING } from './committing.ts';
import type { GalleryEntry } from './entry.ts';
import { LEAVING } from './leaving.ts';
import { NOTIFYING } from './notifying.ts';
import { READING } from './reading.ts';
import { RESOLVING } from './resolving.ts';
import { TIMESTAMPS } from './timestamps.ts';

export { type GalleryEntry, type StoryPart, wholeStory } from './entry.ts';

export const GALLERY: readonly GalleryEntry[] = [
  ...COMMITTING,
  ...RESOLVING,
  ...LEAVING,
  ...READING,
  ...TIMESTAMPS,
  ...NOTIFYING,
  ...ANOMALIES,
];
