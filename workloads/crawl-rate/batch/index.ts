/**
 * The front door of the batch clustering: run it, and read its output.
 *
 * Read cluster-job.ts for the work of a phase. The files of the contest, of its digests and of
 * DuckDB belong to `bench:mapreduce`, which compares the baseline with existing engines.
 */
export { writeDocuments, writeRepository } from './cluster-job.ts';
export { CLUSTERING } from './cluster-job.ts';
export { readClusters, readRepresentatives, type Cluster } from './cluster-job.ts';
