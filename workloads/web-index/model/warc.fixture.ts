/** Writes WARC files and captures for tests. */
import type { Capture } from './capture.ts';

export const HTML_TYPE = 'Content-Type: text/html\r\n';

export function warcRecord(type: string, url: string, block: string | Buffer): Buffer {
  const head = `WARC/1.0\r\nWARC-Type: ${type}\r\nWARC-Target-URI: <${url}>\r\nWARC-Date: 2026-11-21T00:58:22Z\r\n`;
  const length = `Content-Length: ${Buffer.byteLength(block)}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head + length), Buffer.from(block), Buffer.from('\r\n\r\n')]);
}

/** The record of a page. */
export function pageRecord(url: string, html: string): Buffer {
  return warcRecord('response', url, `HTTP/1.1 200 OK\r\n${HTML_TYPE}\r\n${html}`);
}

let ordinal = 0;

/** A capture of a page; of captures of one moment, the one that was made last counts. */
export function pageCapture(url: string, html: string, more: Partial<Capture> = {}): Capture {
  return {
    url,
    timeMs: 0,
    ordinal: ++ordinal,
    status: 200,
    contentType: 'text/html',
    contentLanguage: '',
    location: '',
    body: Buffer.from(html),
    ...more,
  };
}
