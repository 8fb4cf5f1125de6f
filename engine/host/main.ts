#!/usr/bin/env node
/**
 * `percolator <command> [options]`: the program that runs a database on many hosts.
 *
 *     percolator oracle | locks | worker | collector      run until they are told to end (service.ts)
 *     percolator status | wait                            how the database is
 *     percolator tables | get | scan | parked | fsck      what is in it
 *
 * Exit codes: 0 done; 1 it failed, or what was looked for is not there; 2 a mistake in the command
 * line or the configuration, in one sentence, before anything was begun.
 */
import { readFileSync } from 'node:fs';
import process from 'node:process';
import { hasCode, PercolatorError } from '../base/index.ts';
import { type Command, helpOf, helpOfAll, nearest, parseCommandLine } from './command-line.ts';
import { COMMANDS } from './commands.ts';
import { wrong } from './configuration.ts';

async function main(argv: readonly string[]): Promise<number> {
  const [name, ...words] = argv;
  if (name === '--help' || name === '-h' || name === 'help') return print(helpOfAll(COMMANDS));
  if (name === '--version') return print(`percolator ${version()}\n`);
  const command = COMMANDS.find((one) => one.name === name);
  try {
    if (command === undefined) throw noCommand(name);
    const given = parseCommandLine(command, words);
    return await (given === 'help' ? print(helpOf(command)) : command.run(given));
  } catch (error) {
    if (!(error instanceof PercolatorError)) throw error;
    process.stderr.write(`percolator${command ? ` ${command.name}` : ''}: ${oneLine(error)}.\n`);
    // What a user's observers have opened by then would keep the process alive.
    const isRefused = hasCode(error, 'INVALID_ARGUMENT') || hasCode(error, 'PACKAGE_MISSING');
    return process.exit(isRefused ? 2 : 1);
  }
}

function noCommand(name: string | undefined): PercolatorError {
  const names = COMMANDS.map((one: Command) => one.name);
  const all = `there are ${names.join(', ')}, and percolator --help describes them`;
  if (name === undefined) return wrong(`a command is missing: ${all}`);
  if (name.startsWith('-')) return wrong(`${name} comes before a command, or is unknown: ${all}`);
  const near = nearest(name, names);
  const hint = near === undefined ? '' : `the nearest is ${near}; `;
  return wrong(`there is no command ${name}; ${hint}${all}`);
}

function oneLine({ message }: Error): string {
  return message.replaceAll(/\s*\p{Cc}+\s*/gu, ' ').replace(/[\s:.]+$/, '');
}

function print(text: string): number {
  process.stdout.write(text);
  return 0;
}

/** In the package as in the repository, two folders above. */
function version(): string {
  const file = new URL('../../package.json', import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { readonly version: string }).version;
}

// A reader such as `head` that has enough is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});
// A log whose reader has ended ends no service.
process.stderr.on('error', () => {});
process.exitCode = await main(process.argv.slice(2));
