/**
 * An entry of the gallery: a story that ends in a race, on the engine without the rule that closes
 * it. The same choices on the engine as it is end well; choices that are not possible there, such
 * as the delivery of a message that it does not send, are passed over.
 */
export interface GalleryEntry {
  /** In lower case with hyphens: it stands in links. */
  readonly name: string;
  /** A few words, the race in them. */
  readonly title: string;
  /** The rule of protocol.md that closes the race; absent for a story without one. */
  readonly rule?: `P${number}` | undefined;
  /** The name of the scenario. */
  readonly scenario: string;
  /** The name of the mutant that lacks the rule (workloads/verification/mutants); absent: none. */
  readonly mutant?: string | undefined;
  /** The claim that the judge finds broken at the end: `snapshot isolation: half committed`. */
  readonly convicted?: string | undefined;
  /** In their order; the choices of all of them together are the story. */
  readonly parts: readonly StoryPart[];
}

export interface StoryPart {
  /** What is about to happen, and why it matters: two or three sentences. */
  readonly says: string;
  /** As in links (world/choice.ts). */
  readonly choices: string;
}

export function wholeStory({ parts }: GalleryEntry): string {
  return parts.map(({ choices }) => choices).join('');
}
