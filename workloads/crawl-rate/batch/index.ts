/**
 * The front door of the batch clustering: run it, and read its output.
 *
 * Read cluster-job.ts for the work of a phase, then cluster-in-batch.ts. The files from contest.ts
 * on belong to `bench:mapreduce`, which compares the baseline with a pipeline around GNU sort.
 */
export { writeRepository } from './repository-files.ts';
export { clusterInBatch, type BatchOptions, type BatchReport } from './cluster-in-batch.ts';
export { readClusters, readRepresentatives, type Cluster } from './read-clusters.ts';
