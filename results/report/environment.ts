/**
 * Where a run is measured: commit, Node, machine, file system (an unknown fact is null), and the
 * process that measures.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, statfsSync, statSync } from 'node:fs';
import os, { hostname } from 'node:os';
import path from 'node:path';
import type { Environment, RunProcess, RunRecord } from './run-record.ts';

/** `folder` is the output folder of the run; it must exist, because its file system is queried. */
export function captureEnvironment(folder: string): Environment {
  return {
    commit: commitOf(path.resolve(import.meta.dirname, '../..'), folder),
    nodeVersion: process.version,
    cpuModel: os.cpus()[0]?.model.trim() ?? 'unknown',
    cores: os.availableParallelism(),
    memoryBytes: os.totalmem(),
    operatingSystem: distributionName() ?? os.version(),
    kernel: `${os.type()} ${os.release()} ${os.arch()}`,
    fileSystem: fileSystemOf(folder),
  };
}

/**
 * Null outside a git checkout, or without git: a run from an unpacked archive is allowed.
 * @param output the run's own folder, which is no change of the code, as no reference run is
 */
export function commitOf(root: string, output: string): Environment['commit'] {
  try {
    const git = (...words: string[]): string =>
      execFileSync('git', ['-C', root, ...words], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
        maxBuffer: Infinity, // `git status` lists each new file.
      }).trim();
    // In an archive unpacked inside another repository, HEAD would be a commit of that repository.
    if (git('rev-parse', '--show-cdup') !== '') return null;
    const within = path.relative(root, path.resolve(output));
    const isInside = within !== '' && !within.startsWith('..') && !path.isAbsolute(within);
    const results = ['results/reference', ...(isInside ? [within] : [])];
    const others = ['.', ...results.map((one) => `:(exclude,top,literal)${one}`)];
    const changes = git('status', '--porcelain', '--untracked-files=all', '--', ...others);
    return { hash: git('rev-parse', 'HEAD'), dirty: changes !== '' };
  } catch {
    return null;
  }
}

function distributionName(): string | null {
  try {
    return /^PRETTY_NAME="?([^"\n]*)/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? null;
  } catch {
    return null;
  }
}

/** Linux's numbers for file systems; see statfs(2). */
const FILE_SYSTEMS: Readonly<Record<number, string>> = {
  0xef53: 'ext4',
  0x9123683e: 'btrfs',
  0x58465342: 'xfs',
  0x01021994: 'tmpfs',
  0x794c7630: 'overlay',
  0x2fc12fc1: 'zfs',
  0x6969: 'nfs',
  0x01021997: '9p',
};

function fileSystemOf(folder: string): string | null {
  return process.platform === 'linux' ? (FILE_SYSTEMS[statfsSync(folder).type] ?? null) : null;
}

/*
 * The process that writes a run: how the record names it, and whether it still runs.
 *
 * A record in state `running` belongs either to a process that is measuring or to one that was
 * killed. Only the operating system of the same machine knows which.
 */

/** A run of an earlier version, which named no process, counts as being measured for this long. */
const UNNAMED_HOURS = 24;

export function thisProcess(): RunProcess {
  const started = startOf(process.pid) ?? null;
  return { host: hostname(), namespace: processNamespace(), pid: process.pid, started };
}

/**
 * Whether a process may still be writing the run. In doubt it may: a process of another machine
 * cannot be asked, nor one of a container, which may share the machine's name.
 */
export function mayBeMeasuring(
  record: Pick<RunRecord, 'state' | 'process' | 'startedAt'>,
): boolean {
  if (record.state !== 'running') return false;
  if (record.process === null) {
    return Date.now() - Date.parse(record.startedAt) < UNNAMED_HOURS * 3_600_000;
  }
  const { host, namespace, pid, started } = record.process;
  if (host !== hostname()) return true;
  if (namespace !== null && namespace !== processNamespace()) return true;
  if (!exists(pid)) return false;
  const now = startOf(pid);
  return started === null || now === undefined || now === started;
}

/** The namespace that numbers our processes; null where there is no /proc. */
function processNamespace(): number | null {
  try {
    return statSync('/proc/self/ns/pid').ino;
  } catch {
    return null;
  }
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0); // Signal 0 tests for existence and does nothing.
    return true;
  } catch (error) {
    // EPERM: the process exists, and belongs to another user.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

/**
 * When a process started, in clock ticks since the start of the machine. Empty for a zombie, which
 * has exited; undefined if this process may not see it, or where there is no /proc.
 */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // Fields 3 and 22 of the line, which is split after field 2, the command name, because that may
    // contain spaces.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? '' : fields[19];
  } catch {
    return undefined;
  }
}
