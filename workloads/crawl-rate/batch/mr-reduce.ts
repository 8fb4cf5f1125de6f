#!/usr/bin/env node
/**
 * The reducer of one clustering phase as a streaming program: `sort | mr-reduce --phase 1`.
 *
 * It follows Hadoop Streaming's contract: it reads the output of `mr-map`, sorted so that equal
 * keys are adjacent, and writes the input of the next phase's `mr-map`. It runs the same reduce
 * function as the MapReduce.
 */
import { streamReduce } from '#mapreduce';
import { createJob } from './cluster-job.ts';
import { phaseFromCommandLine } from './phase-option.ts';

streamReduce(createJob({ phase: phaseFromCommandLine('mr-reduce') }));
