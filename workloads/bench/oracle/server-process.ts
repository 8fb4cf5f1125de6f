/**
 * The oracle of bench:oracle as a process: it serves from memory under a lease, and its ranges are
 * durable in an embedded store. It ends when its parent does.
 */
import { argv } from 'node:process';
import { sendMessage } from 'execa';
import { openEmbedded, openLeasedAllocator, serveOracle, systemClock } from '#engine';
import type { ServerReady } from './messages.ts';

// A ctrl-C at a terminal reaches this process, too; only the parent handles it, and ends this one.
process.on('SIGINT', () => {});
const [, , folder = ''] = argv;
const store = await openEmbedded({ folder });
const source = await openLeasedAllocator(store, systemClock);
const { address } = await serveOracle(source);
await sendMessage({ kind: 'serving', address } satisfies ServerReady);
process.once('disconnect', () => process.exit());
