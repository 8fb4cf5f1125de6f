/** What the services of the simulated HBase answer with: a message, or a Java exception. */
import {
  type Codec,
  type Framed,
  loadMessages,
  messageOf,
  readerOf,
} from '../../bigtable/hbase/messages.ts';

await loadMessages();

export type ServerAnswer =
  | { readonly message: Uint8Array }
  | { readonly exception: { readonly className: string; readonly stackTrace: string } };

const PACKAGES: Readonly<Record<string, string>> = {
  IOException: 'java.io',
  AccessDeniedException: 'org.apache.hadoop.hbase.security',
  WrongRegionException: 'org.apache.hadoop.hbase.regionserver',
  NoSuchColumnFamilyException: 'org.apache.hadoop.hbase.regionserver',
  OutOfOrderScannerNextException: 'org.apache.hadoop.hbase.exceptions',
  UnknownServiceException: 'org.apache.hadoop.hbase.ipc',
};

/** Thrown inside a service, which answers with it. */
export class JavaException extends Error {
  readonly className: string;

  /** @param name without its package */
  constructor(name: string, message: string) {
    super(message);
    this.className = `${PACKAGES[name] ?? 'org.apache.hadoop.hbase'}.${name}`;
  }

  /** As HBase writes it: the class, the message, and where it happened. */
  get stackTrace(): string {
    return `${this.className}: ${this.message}\n\tat org.apache.hadoop.hbase.Simulated.answer(Simulated.java:1)`;
  }

  /** For the part of a batch that failed. */
  get asNamedBytes(): { readonly name: string; readonly value: Uint8Array } {
    return { name: this.className, value: Buffer.from(this.stackTrace) };
  }
}

/** @param parameter the length of a message of type `<method>Request`, then the message */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- Its caller knows the type.
export function requestOf<Request>(method: string, parameter: Uint8Array): Request {
  const type: Framed = messageOf(`${method.charAt(0).toUpperCase()}${method.slice(1)}Request`);
  return type.read(readerOf(parameter)) as Request;
}

/** The message as an answer. */
export function answered(type: string, value: object): ServerAnswer {
  const codec: Codec<object> = messageOf(type);
  return { message: codec.encode(value) };
}

/** What the service answers, or the exception that it throws. */
export function answerOf(answer: () => ServerAnswer): ServerAnswer {
  try {
    return answer();
  } catch (error) {
    if (!(error instanceof JavaException)) throw error;
    return { exception: { className: error.className, stackTrace: error.stackTrace } };
  }
}
