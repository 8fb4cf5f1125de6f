/**
 * The log of a program: one line per event, on standard error, for people or as JSON.
 *
 *     2026-03-01T12:00:00.000Z info  oracle[4711] leads: this oracle hands out timestamps (epoch 12)
 *     {"time":"2026-03-01T12:00:00.000Z","level":"info","program":"oracle","pid":4711,"event":"leads",...}
 *
 * Nothing of a user's data is in it: no value, no row key, and no message of an error that may name
 * one. Such an error is logged by its code, or its class, and told in full where the data is:
 * `percolator parked` has the message of an observer that failed.
 */
import { pid, stderr } from 'node:process';
import { type Clock, hasCode, PercolatorError, type Warning } from '../base/index.ts';
import { LEVELS, type LogLevel, type LogSettings } from './configuration.ts';

/** What a line says besides its sentence: names of tables and columns, counts, addresses. */
export type LogFields = Readonly<
  Record<string, string | number | boolean | readonly string[] | undefined>
>;

export interface Log {
  /** @param event the event's name, which stays the same from version to version: `leads` */
  say(level: LogLevel, event: string, sentence: string, fields?: LogFields): void;
  /** For `onWarning`: a problem that begins, or is over. */
  readonly warn: (warning: Warning) => void;
}

interface LogLine {
  readonly time: string;
  readonly level: LogLevel;
  readonly program: string;
  readonly pid: number;
  readonly event: string;
  readonly sentence: string;
}

export function openLog(
  program: string,
  { level: least, form }: LogSettings,
  clock: Clock,
  write: (line: string) => void = (line) => void stderr.write(line),
): Log {
  const isShown = (level: LogLevel): boolean => LEVELS.indexOf(level) >= LEVELS.indexOf(least);
  const say: Log['say'] = (level, event, sentence, fields = {}) => {
    if (!isShown(level)) return;
    const time = new Date(clock.wallMs()).toISOString();
    const line: LogLine = { time, level, program, pid, event, sentence };
    write(`${form === 'json' ? JSON.stringify({ ...line, ...fields }) : textOf(line, fields)}\n`);
  };
  return { say, warn: (warning) => sayWarning(say, warning) };
}

function textOf({ time, level, program, event, sentence }: LogLine, fields: LogFields): string {
  const told = Object.entries(fields).filter(([, value]) => value !== undefined);
  const more = told.map(([name, value]) => `${name} ${String(value)}`).join(', ');
  const text = `${time} ${level.padEnd(5)} ${program}[${pid}] ${event}: ${sentence}`;
  return (more === '' ? text : `${text} (${more})`).replaceAll(/\s*\p{Cc}+\s*/gu, ' ');
}

function sayWarning(say: Log['say'], warning: Warning): void {
  const { kind, sentence, row, table, column, error, isOver } = warning;
  const level = kind === 'ended' ? 'error' : isOver ? 'info' : 'warn';
  // A loop's sentence names its row, which is a user's data.
  const anonymous = row === undefined ? sentence : sentence.replace(`row ${row} `, 'one row ');
  const event = `${kind.replaceAll(' ', '-')}${isOver ? '-over' : ''}`;
  const fields = { table, column, error: error === undefined ? undefined : nameOf(error) };
  say(level, event, isOver ? `it is over: ${anonymous}` : anonymous, fields);
}

/** Its code or class. The message may name rows. */
export function nameOf(error: unknown): string {
  if (error instanceof PercolatorError) return error.code;
  return error instanceof Error ? error.name : typeof error;
}

/** What ended a program: what concerns the deployment is told in full, all else by name. */
export function reasonOf(error: unknown): string {
  const codes = ['STORE_UNAVAILABLE', 'STORE_REFUSED', 'STORE_CLOSED', 'WRONG_DATABASE'] as const;
  const isTold = codes.some((code) => hasCode(error, code)) || hasCode(error, 'INVALID_ARGUMENT');
  return isTold && error instanceof Error ? error.message : nameOf(error);
}
