/**
 * Calls addresses when rows change, as a trigger of the service with the action "Call URL" does. What was changed at
 * once is one call for each table; a call that fails is not repeated.
 */
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { Store } from '../store/store.ts';

/** An address to call for one table, or for every table (null); {table} in it means the name. */
export interface Ring {
  readonly table: string | null;
  readonly url: string;
}

/** Calls under way; more are left out, as a service would. */
const CALLS_MAX = 64;
const CALL_MS_MAX = 5_000;

/** Begins to call. */
export function ringOnChanges(store: Store, rings: readonly Ring[]): void {
  if (rings.length === 0) return;
  const changed = new Set<number>();
  let callCount = 0;
  const call = (url: string): void => {
    if (callCount >= CALLS_MAX) return;
    callCount += 1;
    const request = url.startsWith('https:') ? requestHttps : requestHttp;
    const calling = request(url, { method: 'POST', timeout: CALL_MS_MAX, agent: false }, (answer) => answer.resume());
    calling.once('timeout', () => calling.destroy());
    calling.on('error', () => undefined); // the change itself stays; nothing waits for the call
    calling.once('close', () => (callCount -= 1));
    calling.end();
  };
  const callAll = (): void => {
    const names = store.catalog.tables.filter(({ id }) => changed.has(id)).map(({ name }) => name);
    changed.clear();
    for (const name of names)
      for (const { table, url } of rings)
        if (table === null || table === name) call(url.replaceAll('{table}', encodeURIComponent(name)));
  };
  store.onRow((tableId) => {
    // Transactions of the store are synchronous, so this one has ended then.
    if (changed.size === 0) queueMicrotask(callAll);
    changed.add(tableId);
  });
}
