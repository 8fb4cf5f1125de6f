/**
 * The settings of a private PostgreSQL: those of an administrator with knowledge of this machine
 * and this workload, and no others.
 *
 * All settings that durability rests on are at their defaults. They are stated nevertheless,
 * because the comparison rests on them: a commit is on the disk before its caller hears of it.
 */
import { totalmem } from 'node:os';

/** A setting, and the reason for its value. */
export interface Setting {
  readonly value: string;
  readonly why: string;
}

const MEGABYTE = 1024 * 1024;
/**
 * Connections at each of the two isolation levels that are used: together more than a server can
 * use on two cores, and fewer than its default limit of 100.
 */
const CONNECTIONS = 16;

/** Those of one client process at each level. Above 48 processes the default limit is too low. */
export function connectionsOfClient(clients: number): number {
  return Math.max(1, Math.floor(CONNECTIONS / clients));
}

export function settingsFor(memoryBytes: number = totalmem()): Readonly<Record<string, Setting>> {
  const quarterMb = Math.floor(memoryBytes / 4 / MEGABYTE);
  return {
    fsync: { value: 'on', why: 'durable, as delivered' },
    synchronous_commit: { value: 'on', why: 'durable, as delivered' },
    full_page_writes: { value: 'on', why: 'durable, as delivered' },
    shared_buffers: {
      value: `${Math.min(Math.max(quarterMb, 128), 8192)}MB`,
      why: 'a quarter of the memory, as its manual advises: all tables fit',
    },
    effective_cache_size: {
      value: `${Math.max(quarterMb * 2, 256)}MB`,
      why: 'the size of the system cache, for the planner',
    },
    work_mem: { value: '16MB', why: 'no sort of these queries needs a file' },
    maintenance_work_mem: { value: '256MB', why: 'indexes are built in memory after loading' },
    wal_level: { value: 'minimal', why: 'no replication; loading is not logged twice' },
    max_wal_senders: { value: '0', why: 'required by wal_level minimal' },
    max_wal_size: { value: '4GB', why: 'checkpoints come by time, not because the log is full' },
    checkpoint_timeout: {
      value: '5min',
      why: 'as delivered; a run of some minutes pays for its own checkpoints',
    },
    random_page_cost: { value: '1.1', why: 'the data is in memory, or on a disk without arms' },
    jit: { value: 'off', why: 'compiling these queries takes longer than running them' },
    max_parallel_workers_per_gather: {
      value: '0',
      why: 'other clients need the processors; it would start processes for single queries',
    },
    max_connections: {
      value: '200',
      why: 'for 64 clients at each isolation level, and some more',
    },
    timezone: { value: 'UTC', why: 'the same everywhere' },
    log_checkpoints: { value: 'off', why: 'the log is not read' },
    log_min_messages: { value: 'log', why: 'conflicts are expected, and counted by the client' },
  };
}
