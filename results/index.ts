/** The front door of the results: what a script of this project may use. */
export { runCommand, parseCommandLine, type CommandContext } from './command-line.ts';
export { choice, flag, inputFile, inputFolder, integer, number } from './options.ts';
export { numberList, outputFolder, text, type Option } from './options.ts';
export { UsageError } from './usage-error.ts';
