/**
 * Programs for Java from Maven's repository: Maven resolves them with all that they need, once, into
 * its own cache; a file here keeps the class path, so that a second use asks no network.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { execa } from 'execa';

export interface MavenArtifact {
  /** As `group:artifact:version`. */
  readonly coordinates: string;
  /** As `group:artifact`: not wanted, though the artifact names them. */
  readonly without?: readonly string[];
}

const CACHE = path.join(import.meta.dirname, '../../../node_modules/.cache/maven');

/** The class path, if it was resolved before and all its files are still there. */
export function resolvedClassPath(artifacts: readonly MavenArtifact[]): string | undefined {
  const file = cacheFile(artifacts);
  if (!existsSync(file)) return undefined;
  const classPath = readFileSync(file, 'utf8');
  return classPath.split(path.delimiter).every((jar) => existsSync(jar)) ? classPath : undefined;
}

/** Resolves the class path, which takes minutes the first time. Needs `mvn` on PATH. */
export async function resolveClassPath(
  artifacts: readonly MavenArtifact[],
  signal?: AbortSignal,
): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'maven-'));
  try {
    const list = path.join(folder, 'class-path');
    await writeFile(path.join(folder, 'pom.xml'), pomOf(artifacts));
    const words = ['-q', '-B', 'dependency:build-classpath', '-DincludeScope=runtime'];
    await execa('mvn', [...words, `-Dmdep.outputFile=${list}`], {
      cwd: folder,
      stdin: 'ignore',
      ...(signal !== undefined && { cancelSignal: signal }),
    });
    await mkdir(CACHE, { recursive: true });
    // Renamed when it is whole, so that no other process reads half a class path.
    const unfinished = `${cacheFile(artifacts)}.${process.pid}`;
    await writeFile(unfinished, readFileSync(list, 'utf8').trim());
    await rename(unfinished, cacheFile(artifacts));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return readFileSync(cacheFile(artifacts), 'utf8');
}

/** Whether the program runs on this machine. */
export async function runs(program: string, words: readonly string[]): Promise<boolean> {
  return (await execa(program, words, { reject: false, stdin: 'ignore' })).exitCode === 0;
}

function cacheFile(artifacts: readonly MavenArtifact[]): string {
  const hash = createHash('sha256').update(pomOf(artifacts)).digest('hex');
  return path.join(CACHE, hash.slice(0, 16));
}

function pomOf(artifacts: readonly MavenArtifact[]): string {
  return [
    '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>',
    '<groupId>local</groupId><artifactId>class-path</artifactId><version>1</version>',
    `<dependencies>${artifacts.map(dependency).join('')}</dependencies></project>`,
  ].join('\n');
}

function dependency({ coordinates, without = [] }: MavenArtifact): string {
  const [group, artifact, version] = coordinates.split(':');
  const exclusions = without.map((one) => {
    const [ofGroup, name] = one.split(':');
    return `<exclusion><groupId>${ofGroup}</groupId><artifactId>${name}</artifactId></exclusion>`;
  });
  return (
    `<dependency><groupId>${group}</groupId><artifactId>${artifact}</artifactId>` +
    `<version>${version}</version><exclusions>${exclusions.join('')}</exclusions></dependency>`
  );
}
