/** For tests: a store in another process. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Answer, Method } from './serve.fixture.ts';

const SERVE = fileURLToPath(new URL('serve.fixture.ts', import.meta.url));

export class OtherProcess implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, (answer: Answer) => void>();
  #nextId = 0;

  private constructor(child: ChildProcess) {
    this.#child = child;
    child.on('message', (answer: Answer) => this.#waiting.get(answer.id)?.(answer));
  }

  static async open(folder: string): Promise<OtherProcess> {
    const child = fork(SERVE, [folder], { serialization: 'advanced' });
    await once(child, 'message');
    return new OtherProcess(child);
  }

  /** The method's answer, or the code of its error. */
  async call(method: Method, ...args: unknown[]): Promise<unknown> {
    const id = this.#nextId++;
    const answer = await new Promise<Answer>((resolve) => {
      this.#waiting.set(id, resolve);
      this.#child.send({ id, method, args });
    });
    return answer.code ?? answer.value;
  }

  signal(name: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void {
    this.#child.kill(name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, 'exit');
    this.signal('SIGCONT'); // A failed test may have left it stopped, and deaf to what follows.
    if (this.#child.connected) this.#child.disconnect();
    await exited;
  }
}
