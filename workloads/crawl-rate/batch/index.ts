/**
 * The front door of the batch clustering: run it, read what it left.
 *
 * Read cluster-job.ts for what a phase does, then cluster-in-batch.ts. The files from contest.ts on
 * belong to `bench:mapreduce`, which holds the baseline against a pipeline around GNU sort.
 */
export { writeRepository } from './repository-files.ts';
export { clusterInBatch, type BatchOptions, type BatchReport } from './cluster-in-batch.ts';
export { readClusters, readRepresentatives, type Cluster } from './read-clusters.ts';
