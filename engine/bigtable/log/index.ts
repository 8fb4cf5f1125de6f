/**
 * The front door of the embedded store that is to replace `../embedded`: a log of our own. So far
 * only its tests use it; one process owns a folder.
 */
export { openEmbedded, type EmbeddedOptions } from './open-embedded.ts';
