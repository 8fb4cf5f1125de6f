/**
 * The observers of the web index: "Each observer is explicitly constructed in the main() of the
 * worker binary, so it is clear what observers are active" (section 2.4). No two observe the same
 * column. `─▶` is a write of the observed column, `─ ▶` a weak notification.
 *
 *     loader ─▶ capture ─▶ document processor ─▶ document ─▶ renderer ─▶ form ─▶ clustering
 *                             │  │  │               ▲                             ─ ▶ vote ─▶ election
 *                             │  │  └▶ resource ─▶ resource watcher ─ ┘                         ─ ▶ place, publish
 *                             │  └▶ redirect ─▶ redirect inversion ─ ┐
 *                             └▶ links ─▶ link inversion ─ ─ ─ ─ ─ ─ ┴ ▶ collect ─▶ collector
 *                                                                       │  │
 *        election caller ◀─ rank ◀─ ranker ◀─ sources ◀────────────────┘  │
 *           ─ ▶ vote                  │          ▲                         └▶ texts ─▶ anchor forwarder
 *                                     └▶ shares ─▶ rank spreader ─ ┘                    ─ ▶ place ─▶ anchor placer
 *
 *     publish ─▶ publisher ─▶ entry ─▶ exporter ─▶ the serving index
 */
import type { Observer } from '#engine';
import { anchorForwarder, anchorPlacer } from './anchors.ts';
import { clustering, election } from './clustering.ts';
import { documentProcessor } from './document-processor.ts';
import { createExporter, publisher } from './exporting.ts';
import { collector, linkInversion, redirectInversion } from './links.ts';
import { electionCaller, ranker, rankSpreader } from './ranking.ts';
import { renderer, resourceWatcher } from './rendering.ts';
import type { ServingIndex } from './serving-index.ts';

export function createObservers(serving: ServingIndex): readonly Observer[] {
  return [
    documentProcessor,
    resourceWatcher,
    renderer,
    clustering,
    election,
    redirectInversion,
    linkInversion,
    collector,
    ranker,
    rankSpreader,
    electionCaller,
    anchorForwarder,
    anchorPlacer,
    publisher,
    createExporter(serving),
  ];
}
