#!/usr/bin/env node
/**
 * The reducer of one clustering phase as a streaming program: `sort | mr-reduce --phase 1`.
 *
 * Under Hadoop Streaming's contract: it takes what `mr-map` wrote, sorted so that equal keys are
 * neighbours, and writes what the next phase's `mr-map` takes. The reduce function is the one the
 * MapReduce runs.
 */
import { streamReduce } from '#mapreduce';
import { createJob } from './cluster-job.ts';
import { phaseFromCommandLine } from './phase-option.ts';

streamReduce(createJob({ phase: phaseFromCommandLine('mr-reduce') }));
