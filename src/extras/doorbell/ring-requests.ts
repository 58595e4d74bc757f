/**
 * Requests to /ring/SECRET/TABLE. Only the name or number of the table counts, and headers and body are never looked
 * at. Every refused ring gets the same answer, made by the same steps. A ring can make the daemon read a table a little
 * earlier, and nothing else.
 */
import { createServer } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import { asRowsyncError } from '../../base/errors.ts';
import { stampFromMs } from '../../base/clock.ts';
import { durationText, plural, someOf } from '../../base/text.ts';
import type { Config } from '../../config/load.ts';
import type { DaemonView } from '../../daemon/context.ts';
import {
  counter,
  gauge,
  type LinkedPart,
  type ListenAddress,
  type Metric,
  type PathRequest,
  type PlainAnswer,
} from '../shared/linked-extra.ts';
import type { FoundComplaint } from '../../reconcile/account/facts.ts';
import { readTables } from '../../replica/bookkeeping/tables.ts';
import { isSame } from '../http/page-key.ts';
import { answerPath, handBounded, listenOn, REQUEST_MS_MAX } from '../http/server.ts';
import { Doorbell } from './doorbell.ts';
import { makeSecret } from './secret.ts';
import { changingServer, type DaemonServer } from '../http/changing-server.ts';
import { httpOf } from '../shared/http-settings.ts';

/** The file with the secret, and the names of tables, are looked at again after this time. */
const LOOK_EVERY_MS = 1_000;
/** Rings with the right secret that are looked at in one second, for all tables. */
const RINGS_PER_SECOND_MAX = 500;

/** Tables that a line names. */
const RUNG_TABLES_MAX = 5;

const RUNG: PlainAnswer = { status: 200, body: 'rung\n' };
const REFUSED: PlainAnswer = { status: 404, body: 'not found\n' };

/** Rings that counted, and others by what was wrong: the secret, the table, or too many. */
type RingCounts = Readonly<Record<'rung' | 'secret' | 'table' | 'many', number>>;

export function takeRings(view: DaemonView): LinkedPart {
  const { clock, stop } = view;
  const doorbell = new Doorbell({
    clock,
    stop,
    refresh: (tables) => view.refresh(tables),
    originNowMs: () => clock.nowMs() + (view.resources().origin.counters().clockAheadMs ?? 0),
  });
  const listen = listener(view);
  const counts = { rung: 0, secret: 0, table: 0, many: 0 };
  let second = { startedMs: -Infinity, ringCount: 0 };
  const hasRoom = (): boolean => {
    const nowMs = clock.monotonicMs();
    if (nowMs - second.startedMs >= 1_000) second = { startedMs: nowMs, ringCount: 0 };
    second.ringCount += 1;
    return second.ringCount <= RINGS_PER_SECOND_MAX;
  };
  const isWanted = (): boolean => httpOf(view.resources().config).doorbell !== null;
  return {
    answer: (request) => {
      if (!request.path.startsWith('/ring/')) return null;
      if (!isDeepStrictEqual(request.address, httpOf(view.resources().config).doorbell)) return null;
      const { isTrue, table } = listen.hear(request);
      const reason = !isTrue ? 'secret' : table === null ? 'table' : hasRoom() ? 'rung' : 'many';
      counts[reason] += 1;
      if (reason !== 'rung' || table === null) return REFUSED;
      doorbell.ring(table);
      return RUNG;
    },
    word: () => {
      if (!isWanted()) return { lines: [], complaints: [] };
      const complaint = listen.complaint();
      return {
        lines: [ringsText(counts, doorbell), ...rungLines(doorbell)],
        complaints: complaint === null ? [] : [complaint],
      };
    },
    metrics: () => doorbellMetrics(counts, doorbell),
    prepare: changingServer(view, { listensAt: ownAddress, open: openOwnServer }),
    takeWork: (event) => doorbell.note(event),
    bringsChanges: (table) => doorbell.bringsChanges(table),
  };
}

export function doorbellMetrics(
  counts: Readonly<Record<string, number>>,
  { readCount, broughtCount, percentileMs }: Pick<Doorbell, 'readCount' | 'broughtCount' | 'percentileMs'>,
): readonly Metric[] {
  const percentiles = [0.5, 0.99].flatMap((share) => {
    const ms = percentileMs(share);
    return ms === null ? [] : [{ labels: { percentile: String(share * 100) }, value: ms / 1_000 }];
  });
  return [
    counter(
      'doorbell_rings_total',
      'Rings of the origin: those that counted, and others by what was wrong: the secret, the table, or too many.',
      Object.entries(counts).map(([outcome, value]) => ({ labels: { outcome }, value })),
    ),
    counter('doorbell_reads_total', 'Reads of tables that rang, and whether they brought something.', [
      { labels: { brought: 'yes' }, value: broughtCount },
      { labels: { brought: 'no' }, value: readCount - broughtCount },
    ]),
    gauge(
      'doorbell_seconds',
      "Seconds from the origin's stamp to here of the last 1000 followed rows after rings, as percentiles.",
      percentiles,
    ),
  ];
}

/** Where the doorbell has a server of its own; null for nowhere, or with the page. */
function ownAddress(config: Config): ListenAddress | null {
  const { listen, doorbell } = httpOf(config);
  return isDeepStrictEqual(listen, doorbell) ? null : doorbell;
}

/** The doorbell's own server, which has nothing else. @throws RowsyncError `daemon.listen` */
function openOwnServer(address: ListenAddress, view: DaemonView): Promise<DaemonServer> {
  const server = createServer({ requestTimeout: REQUEST_MS_MAX, headersTimeout: REQUEST_MS_MAX });
  handBounded(server, ({ method = '', url = '' }, response) => {
    const [path = ''] = url.split('?', 1);
    const { status, body } = answerPath(view, { address, method, path }) ?? REFUSED;
    response.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'no-store' }).end(body);
  });
  return listenOn(server, address);
}

/** What rings are compared with, looked at again now and then. */
function listener(view: DaemonView) {
  const { clock } = view;
  let known = { lookedMs: -Infinity, of: '', secret: '', failure: null as FoundComplaint | null };
  let nameByName: ReadonlyMap<string, string> = new Map();
  const look = (config: Config): void => {
    const nowMs = clock.monotonicMs();
    const of = config.replica.path;
    if (known.of === of && nowMs - known.lookedMs < LOOK_EVERY_MS) return;
    const since = known.failure?.since ?? stampFromMs(clock.nowMs());
    known = { lookedMs: nowMs, of, ...readSecret(config, since) };
    nameByName = readNames(view.resources());
  };
  return {
    hear: ({ method, path }: Pick<PathRequest, 'method' | 'path'>) => {
      look(view.resources().config);
      const [, , secret = '', name = '', ...rest] = path.split('/');
      const isSecret = isSame(secret, known.secret);
      const table = nameByName.get(decoded(name) ?? '') ?? null;
      const isTrue = isSecret && known.secret !== '';
      return { isTrue, table: rest.length === 0 && (method === 'GET' || method === 'POST') ? table : null };
    },
    complaint: () => {
      look(view.resources().config);
      return known.failure;
    },
  };
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

function readSecret(
  config: Config,
  since: string,
): { readonly secret: string; readonly failure: FoundComplaint | null } {
  try {
    return { secret: makeSecret(config.replica), failure: null };
  } catch (thrown) {
    const { code, message, hint } = asRowsyncError(thrown);
    return { secret: '', failure: { about: 'doorbell.deaf', subject: null, code, message, hint, since } };
  }
}

/** Tables that are kept here, by name and number; none while the replica is being exchanged. */
function readNames({ config, replica }: ReturnType<DaemonView['resources']>): ReadonlyMap<string, string> {
  try {
    const kept = readTables(replica).filter(({ name, state }) => state !== 'gone' && config.tables.find(name) !== null);
    return new Map([
      ...kept.map(({ id, name }) => [String(id), name] as const),
      ...kept.map(({ name }) => [name, name] as const),
    ]);
  } catch {
    return new Map();
  }
}

function rungLines({ sinceBroughtMs }: Pick<Doorbell, 'sinceBroughtMs'>): readonly string[] {
  if (sinceBroughtMs.length === 0) return [];
  const tables = sinceBroughtMs.map(([table, ms]) => `${table} ${durationText(ms)} ago`);
  return [`rung      ${someOf(tables, RUNG_TABLES_MAX)}`];
}

function ringsText(counts: RingCounts, doorbell: Doorbell): string {
  const refusedCount = counts.secret + counts.table + counts.many;
  const [p50, p99] = [doorbell.percentileMs(0.5), doorbell.percentileMs(0.99)];
  const seconds = (ms: number): string => (ms / 1_000).toFixed(1);
  const times = p50 === null || p99 === null ? '' : `; stamp to here ${seconds(p50)} s (p50), ${seconds(p99)} s (p99)`;
  const refused = refusedCount === 0 ? '' : `, ${refusedCount} refused`;
  const reads = `${doorbell.broughtCount} of ${plural(doorbell.readCount, 'read')} brought something`;
  return `doorbell  ${plural(counts.rung, 'ring')}${refused}; ${reads}${times}`;
}
