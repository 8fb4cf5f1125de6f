/** Where a run takes place: commit, Node, machine, file system. What cannot be found out is null. */
import { execFileSync } from 'node:child_process';
import { readFileSync, statfsSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { Environment } from './run-record.ts';

/** `folder` is the one the run writes to; it must exist, for its file system to be asked. */
export function captureEnvironment(folder: string): Environment {
  return {
    commit: commitOf(path.resolve(import.meta.dirname, '../..')),
    nodeVersion: process.version,
    cpuModel: os.cpus()[0]?.model.trim() ?? 'unknown',
    cores: os.availableParallelism(),
    memoryBytes: os.totalmem(),
    operatingSystem: distributionName() ?? os.version(),
    kernel: `${os.type()} ${os.release()} ${os.arch()}`,
    fileSystem: fileSystemOf(folder),
  };
}

/** Null outside a git checkout, or without git: an unpacked archive runs all the same. */
function commitOf(folder: string): Environment['commit'] {
  try {
    const git = (...words: string[]): string =>
      execFileSync('git', ['-C', folder, ...words], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      }).trim();
    // Inside somebody else's repository (an archive unpacked there), HEAD would be their commit.
    if (git('rev-parse', '--show-cdup') !== '') return null;
    return { hash: git('rev-parse', 'HEAD'), dirty: git('status', '--porcelain') !== '' };
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

/** The numbers by which Linux tells file systems apart; see statfs(2). */
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
