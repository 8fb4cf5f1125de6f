/** The remote store on the official emulator is a Bigtable: the same suite as for the embedded one. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { conformanceSuite } from '../conformance.ts';
import { findEmulator, openRemote, startEmulator } from './index.ts';

const isThere = (await findEmulator(process.env)) !== undefined;

if (isThere) await claimAll();
else test('the remote store on the official emulator', { skip: 'no emulator found' }, () => {});

async function claimAll(): Promise<void> {
  const emulator = await startEmulator({ environment: process.env });
  after(() => emulator.stop());
  const place = { project: 'p', instance: 'i', plainAddress: emulator.address };
  conformanceSuite('emulator', () => openRemote(place));
  conformanceSuite('emulator through grpc-js', () => openRemote({ ...place, plainGrpc: true }));
  void assert;
  void describe;
}
