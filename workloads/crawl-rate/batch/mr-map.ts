#!/usr/bin/env node
/**
 * The mapper of one clustering phase as a streaming program: `mr-map --phase 1 < documents`.
 *
 * Under Hadoop Streaming's contract: lines in, `key` tab `value` lines out. The map function is the
 * one the MapReduce runs.
 */
import { streamMap } from '#mapreduce';
import { createJob } from './cluster-job.ts';
import { phaseFromCommandLine } from './phase-option.ts';

streamMap(createJob({ phase: phaseFromCommandLine('mr-map') }));
