#!/usr/bin/env node
/**
 * A job's functions as a program under Hadoop Streaming's contract, for any engine that keeps it:
 *
 *     streaming-program map|reduce <url of the job's module> <its parameters>
 *
 * The parameters are `{"parameters": ...}` in base64url, which no shell and no engine changes.
 */
import { MapReduceError } from './errors.ts';
import { streamMap, streamReduce } from './streaming.ts';
import type { CreateJob } from './job.ts';

const STREAMS = { map: streamMap, reduce: streamReduce } as const;

const [side = '', url = '', parameters = ''] = process.argv.slice(2);
const stream = Object.entries(STREAMS).find(([name]) => name === side)?.[1];
if (stream === undefined) refuse(`the first argument is "${side}"; it must be map or reduce`);
try {
  const createJob = await loadedJob();
  stream(createJob(decoded()));
} catch (error) {
  // One line, which engines/program.ts looks for in what the engine prints.
  if (!(error instanceof MapReduceError)) throw error;
  process.stderr.write(`streaming-program: ${error.message}\n`);
  process.exitCode = 1;
}

async function loadedJob(): Promise<CreateJob> {
  const { createJob } = await jobModule();
  if (typeof createJob === 'function') return createJob;
  return refuse(`the job "${url}" does not export createJob`);
}

async function jobModule(): Promise<{ readonly createJob?: CreateJob }> {
  try {
    return (await import(url)) as { readonly createJob?: CreateJob };
  } catch (error) {
    return refuse(`the job "${url}" cannot be loaded: ${String(error)}`);
  }
}

function decoded(): unknown {
  if (parameters === '') return undefined;
  try {
    const text = Buffer.from(parameters, 'base64url').toString('utf8');
    return (JSON.parse(text) as { readonly parameters?: unknown }).parameters;
  } catch {
    return refuse(`the parameters "${parameters}" cannot be read`);
  }
}

function refuse(reason: string): never {
  process.stderr.write(`streaming-program: ${reason}\n`);
  process.exit(2);
}
