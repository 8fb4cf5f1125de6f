/** The clustering by DuckDB, as an engine next to those that run MapReduces (duckdb-program.ts). */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ChainEngine, type EngineSize, outsideEngine, runProgram } from '#mapreduce';

const PROGRAM = fileURLToPath(new URL('duckdb-program.ts', import.meta.url));
const NAME = 'DuckDB';
/** What DuckDB's reader of files needs in addition to the groups. */
const MEMORY_BYTES_MIN = 256 * 1024 * 1024;

/**
 * DuckDB as an engine. It can only cluster whole files: it ignores the chain that it is given, and
 * where an input ends.
 */
export function duckdbEngine({ workers, memoryBytes }: EngineSize): ChainEngine {
  return outsideEngine(NAME, async ({ signal }, inputs, place) => {
    const task = {
      inputs: inputs.map(({ path }) => path),
      output: join(place.output, 'part-00000'),
      threads: workers,
      memoryBytes: Math.max(memoryBytes, MEMORY_BYTES_MIN),
      folder: place.work,
    };
    await runProgram(NAME, [process.execPath, PROGRAM, JSON.stringify(task)], { signal });
  });
}
