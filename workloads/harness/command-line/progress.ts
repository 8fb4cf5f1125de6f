/**
 * Progress messages of a script: a bar with elapsed and remaining time on a terminal, plain lines
 * anywhere else.
 *
 *   const progress = startProgress();
 *   progress.phase('loading the repository', documents, 'documents');
 *   progress.update(done);
 *   progress.note('percolator at 10 %/h: sustained, median 4 ms');
 *   progress.end();
 *
 * A file or a pipe receives the notes, one line at the start and end of each phase, and in between
 * one when `QUIET_MS` have passed without any. There are no control characters, so that a log stays
 * readable.
 */
import { createRequire } from 'node:module';
import type * as CliProgress from 'cli-progress';
import { counted } from '#results';

export interface Progress {
  /**
   * Begins a phase, and ends the one before it, if any. `total` 0: the amount of work is not known.
   */
  phase(name: string, total: number, unit?: string): void;
  /** How much of the phase is done. Cheap: call it as often as you like. */
  update(done: number): void;
  /** Prints a line of its own, above the bar. */
  note(line: string): void;
  /** Ends the last phase. Ending twice is harmless. */
  end(): void;
}

export interface ProgressOptions {
  /** Default: standard error, so that standard output holds results alone. */
  readonly stream?: NodeJS.WriteStream;
}

export function startProgress(options: ProgressOptions = {}): Progress {
  const stream = options.stream ?? process.stderr;
  return stream.isTTY ? new Bar(stream) : new Lines(stream);
}

/**
 * Minimum time between two lines about the same phase, in milliseconds. Shorter floods a log;
 * longer looks stuck.
 */
const QUIET_MS = 5000;

/** A bar is loaded only where there is a terminal to draw it on. */
const require = createRequire(import.meta.url);

interface Phase {
  readonly name: string;
  readonly total: number;
  readonly unit: string;
  readonly startedMs: number;
  done: number;
}

class Lines implements Progress {
  readonly #stream: NodeJS.WriteStream;
  #phase: Phase | null = null;
  /** When the last line was written. */
  #spokeMs = 0;

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream;
  }

  phase(name: string, total: number, unit = ''): void {
    this.end();
    this.#phase = newPhase(name, total, unit);
    this.#say(`${name} ...`);
  }

  update(done: number): void {
    if (this.#phase === null) return;
    this.#phase.done = done;
    if (performance.now() - this.#spokeMs >= QUIET_MS) this.#say(statusLine(this.#phase));
  }

  note(line: string): void {
    this.#say(line);
  }

  end(): void {
    if (this.#phase !== null) this.#say(endLine(this.#phase));
    this.#phase = null;
  }

  #say(line: string): void {
    this.#spokeMs = performance.now();
    this.#stream.write(`${line}\n`);
  }
}

class Bar implements Progress {
  readonly #stream: NodeJS.WriteStream;
  #phase: Phase | null = null;
  #bar: CliProgress.SingleBar | null = null;
  /** Redraws the bar between reports, so that the elapsed time moves. */
  #ticker: NodeJS.Timeout | null = null;

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream;
    // The bar switches line wrapping off; an exit in the middle must switch it on again.
    process.once('exit', () => this.#bar?.stop());
  }

  phase(name: string, total: number, unit = ''): void {
    this.end();
    this.#phase = newPhase(name, total, unit);
    const { SingleBar } = require('cli-progress') as typeof CliProgress;
    this.#bar = new SingleBar({
      stream: this.#stream,
      format: '{name}  {bar}  {status}',
      barsize: 24,
      barCompleteChar: '\u2501',
      barIncompleteChar: '\u2500',
      hideCursor: false,
      clearOnComplete: true,
      // The command line answers ctrl-C; the bar must not answer it too.
      gracefulExit: false,
      fps: 10,
    });
    this.#bar.start(Math.max(total, 1), 0, this.#payload(this.#phase));
    this.#ticker = setInterval(() => this.#redraw(), 1000).unref();
  }

  update(done: number): void {
    if (this.#phase === null) return;
    this.#phase.done = done;
    this.#redraw();
  }

  note(line: string): void {
    if (this.#phase === null || this.#bar === null) this.#stream.write(`${line}\n`);
    else {
      // Remove the bar, write the line in its place, and draw the bar again below it.
      this.#bar.stop();
      this.#stream.write(`${line}\n`);
      this.#bar.start(Math.max(this.#phase.total, 1), this.#phase.done, this.#payload(this.#phase));
    }
  }

  end(): void {
    if (this.#ticker !== null) clearInterval(this.#ticker);
    this.#bar?.stop();
    if (this.#phase !== null) this.#stream.write(`${endLine(this.#phase)}\n`);
    this.#phase = null;
    this.#bar = null;
  }

  #redraw(): void {
    if (this.#phase === null) return;
    this.#bar?.update(Math.min(this.#phase.done, this.#phase.total), this.#payload(this.#phase));
  }

  #payload(phase: Phase): { name: string; status: string } {
    return { name: phase.name, status: timesText(phase) };
  }
}

function newPhase(name: string, total: number, unit: string): Phase {
  return { name, total, unit, startedMs: performance.now(), done: 0 };
}

function statusLine(phase: Phase): string {
  const share = phase.total > 0 ? ` ${Math.floor((100 * phase.done) / phase.total)} %` : '';
  return `${phase.name}${share} (${timesText(phase)})`;
}

function endLine(phase: Phase): string {
  const amount = phase.done > 0 && phase.unit !== '' ? `${amountText(phase)} in ` : '';
  return `${phase.name}: ${amount}${durationText(elapsedSeconds(phase))}`;
}

function amountText({ done, unit }: Phase): string {
  return counted(done, unit);
}

function timesText(phase: Phase): string {
  const elapsed = elapsedSeconds(phase);
  const amount = phase.done > 0 && phase.unit !== '' ? `${amountText(phase)}, ` : '';
  const remaining = remainingSeconds(phase, elapsed);
  const rest = remaining === null ? '' : `, about ${durationText(remaining)} left`;
  return `${amount}${durationText(elapsed)}${rest}`;
}

/** Null until enough is done for an estimate to mean anything. */
function remainingSeconds(phase: Phase, elapsed: number): number | null {
  if (phase.total <= 0 || phase.done < phase.total / 100) return null;
  return Math.max(0, (elapsed * (phase.total - phase.done)) / phase.done);
}

function elapsedSeconds(phase: Phase): number {
  return (performance.now() - phase.startedMs) / 1000;
}

function durationText(seconds: number): string {
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}
