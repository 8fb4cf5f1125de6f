/** The messages between the program and a process that judges mutants. */

/** One judge's work on one mutant. */
export type Step =
  // The name is the test file, from the root of the project.
  | { readonly kind: 'tests'; readonly name: string }
  | { readonly kind: 'seeds'; readonly name: string; readonly from: number; readonly to: number }
  | {
      readonly kind: 'search';
      readonly name: string;
      readonly scenario: string;
      readonly suspicion: 'all' | 'crashed';
      readonly crashes?: number;
      readonly copies?: number;
      readonly lostAnswers?: number;
    };

export interface Job {
  /** The change to make while the engine is loaded. None: the unchanged engine. */
  readonly change?: { readonly file: string; readonly text: string } | undefined;
  readonly steps: readonly Step[];
  /** Whether to report also which code each step has reached. Takes longer. */
  readonly measures: boolean;
}

/** By file: the ranges of code that ran, from the first character to the one after the last. */
export type ReachedRanges = Readonly<Record<string, readonly (readonly [number, number])[]>>;

export type StepMessage =
  | { readonly kind: 'began'; readonly step: string }
  | {
      readonly kind: 'passed';
      readonly step: string;
      readonly cpuMs: number;
      /** The number of tests, seeds or executions. */
      readonly count: number;
      readonly reached?: ReachedRanges;
    }
  | {
      readonly kind: 'failed';
      readonly step: string;
      readonly why: string;
      /** Whether it failed before any test ran. */
      readonly isLoading: boolean;
      /** Whether it was ended because it waited for too long. */
      readonly isLate: boolean;
    }
  /** The job is over; the process ends too, unless it is as good as new. */
  | { readonly kind: 'ended'; readonly isAsNew: boolean };
