/**
 * What every script needs of the machine, checked before it begins: otherwise it would fail in the
 * middle of a measurement, with an error of the system.
 */
import { mkdtempSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { UsageError } from '#results';
import { attempt } from './path-checks.ts';

/** The smallest limit that systems have by default (macOS). With 24, libraries in C crash. */
const OPEN_FILES_MIN = 256;

export function checkSurroundings(): void {
  checkTemporaryFolder();
  checkOpenFiles();
}

/** Checks only a folder that the user has chosen, because most scripts need none. */
function checkTemporaryFolder(): void {
  const folder = process.env['TMPDIR'] ?? '';
  if (folder === '') return;
  attempt(`TMPDIR must be a folder that can be written, but ${JSON.stringify(folder)}`, () =>
    rmdirSync(mkdtempSync(path.join(tmpdir(), 'writable-'))),
  );
}

/** Node has raised its limit as far as it may. */
function checkOpenFiles(): void {
  const report = process.report as typeof process.report & { excludeNetwork: boolean };
  report.excludeNetwork = true; // Otherwise it would ask a name server.
  const { userLimits } = report.getReport() as unknown as Report;
  const limit = userLimits?.open_files?.soft;
  if (typeof limit !== 'number' || limit >= OPEN_FILES_MIN) return;
  throw new UsageError(
    `The limit of open files must be at least ${OPEN_FILES_MIN}, but is ${limit}: raise it, with ulimit -n 1024.`,
  );
}

/** A limit is a number, or "unlimited". */
interface Report {
  readonly userLimits?: { readonly open_files?: { readonly soft: unknown } };
}
