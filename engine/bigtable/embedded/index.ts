/** The front door of the embedded store. */
export { openEmbedded, type EmbeddedOptions } from './open-embedded.ts';
