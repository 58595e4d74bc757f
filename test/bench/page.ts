/**
 * What the pages over a large table cost the daemon, which makes them in another process: its own processor time for
 * each, how long its other work was held up, and whether the last page of rows comes as fast as the first.
 */
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { buffer } from 'node:stream/consumers';
import { ChildPool } from '../../src/extras/shared/child-pool.ts';
import { PAGE_PROCESS, type PageRequest } from '../../src/extras/page/request.ts';
import { requestOf } from '../support/page-request.ts';
import { TABLE } from './data.ts';
import { median, timeMs, type Figure } from './measure.ts';
import type { Origins } from './origin.ts';
import { pullOnce } from './ours.ts';

/** What this benchmark needs of what every benchmark is given. */
export interface PageContext {
  readonly origins: Origins;
  readonly folder: string;
  readonly roundCount: number;
  readonly isSmoke: boolean;
}

/** `page.daemonMs`, `page.heldUpMs` and `page.lastPageRatio`. */
export async function pageBench({ origins, folder, roundCount, isSmoke }: PageContext): Promise<readonly Figure[]> {
  const rowCount = isSmoke ? 2_000 : 1_000_000;
  const path = join(folder, 'page.db');
  await pullOnce(await origins.serve(rowCount), path, { compress: false });
  const table = `/browse/${encodeURIComponent(TABLE)}`;
  const host = new ChildPool<PageRequest>(2, PAGE_PROCESS);
  const { signal } = new AbortController();
  const show = async (address: string, query = ''): Promise<void> => {
    const { status, body } = await host.ask(requestOf(path, address, query), { msMax: 60_000, signal });
    await buffer(body);
    if (status !== 200) throw new Error(`${address} was answered with ${status}`);
  };
  const pages = [
    ['/'],
    ['/browse'],
    [table],
    [table, `_after=${rowCount - 200}`],
    [table, '_q=nothing+of+the+kind'],
    [`${table}/${rowCount - 200}`],
    ['/ask', new URLSearchParams({ sql: `SELECT count(*) FROM "${TABLE}"` }).toString()],
    ['/work'],
  ] as const;
  try {
    await show('/browse'); // starts the process
    const cpuMs: number[] = [];
    const delay = monitorEventLoopDelay({ resolution: 5 });
    delay.enable();
    for (const [address, query] of pages) {
      const rounds: number[] = [];
      for (let round = 0; round < roundCount; round += 1) {
        const before = process.cpuUsage();
        await show(address, query);
        const { user, system } = process.cpuUsage(before);
        rounds.push((user + system) / 1000);
      }
      cpuMs.push(median(rounds));
    }
    delay.disable();
    const first: number[] = [];
    const last: number[] = [];
    for (let round = 0; round < roundCount; round += 1) {
      first.push(await timeMs(() => show(table)));
      last.push(await timeMs(() => show(table, `_after=${rowCount - 200}`)));
    }
    const note = `${pages.length} pages over ${rowCount.toLocaleString('en-US')} rows`;
    return [
      {
        name: 'page.daemonMs',
        value: Math.max(...cpuMs),
        unit: 'ms of the daemon, the most expensive page',
        bound: { kind: 'atMost', value: 100 },
        note,
      },
      {
        name: 'page.heldUpMs',
        value: delay.max / 1e6,
        unit: 'ms that other work waited',
        bound: { kind: 'atMost', value: 50 },
        note,
      },
      {
        name: 'page.lastPageRatio',
        value: median(last) / median(first),
        unit: '× the time of the first page',
        bound: null,
        note: `rows ${(rowCount - 199).toLocaleString('en-US')} to ${(rowCount - 100).toLocaleString('en-US')}`,
      },
    ];
  } finally {
    host.close();
  }
}
