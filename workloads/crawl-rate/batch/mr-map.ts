#!/usr/bin/env node
/**
 * The mapper of one clustering phase as a streaming program: `mr-map --phase 1 < documents`.
 *
 * It follows Hadoop Streaming's contract: lines in, lines of `key` tab `value` out. It runs the
 * same map function as the MapReduce.
 */
import { streamMap } from '#mapreduce';
import { createJob } from './cluster-job.ts';
import { phaseFromCommandLine } from './phase-option.ts';

streamMap(createJob({ phase: phaseFromCommandLine('mr-map') }));
