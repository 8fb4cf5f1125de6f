/** The environment of a run: commit, Node, machine, file system. An unknown fact is null. */
import { execFileSync } from 'node:child_process';
import { readFileSync, statfsSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { Environment } from './run-record.ts';

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
