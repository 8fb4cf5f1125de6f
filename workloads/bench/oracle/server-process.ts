/**
 * The oracle of bench:oracle as a process: from memory under a lease, its ranges durable in an embedded store.
 * Ends when its parent does.
 */
import { argv } from 'node:process';
import { sendMessage } from 'execa';
import { openEmbedded, openLeasedAllocator, serveOracle, systemClock } from '#engine';
import type { Serving } from './messages.ts';

const [, , folder = ''] = argv;
const store = await openEmbedded({ folder });
const source = await openLeasedAllocator(store, systemClock);
const { address } = await serveOracle(source);
await sendMessage({ kind: 'serving', address } satisfies Serving);
process.once('disconnect', () => process.exit());
