/**
 * A sandbox for tests of other layers: small tables of your own on a free loopback port.
 *
 *    await using sandbox = await startTestSandbox({
 *      tables: [{ name: 'Note', columns: [{ name: 'Title', type: 'Text' }], rows: [{ Title: 'a' }, { Title: 'b' }] }],
 *    });
 *    sandbox.url, sandbox.database, sandbox.token, sandbox.user.email, sandbox.user.password
 *
 * Rows (as a colleague would; cells are `Value`s of wire/schema.ts):
 *    const id = sandbox.store.insert('Note', { Title: 'c' });     // the `@row.id`
 *    sandbox.store.update('Note', id, { Title: 'd' });   sandbox.store.delete('Note', id);
 *    sandbox.store.rows('Note')                          // [{ id, values: { Id: '1', Title: 'a', … } }, …]
 * Schema: store.addTable(spec), dropTable(name), renameTable(old, now), addColumn(table, spec), dropColumn(table,
 * name),
 *    renameColumn(table, old, now), changeColumn(table, name, { type, options, kind, … }).
 * Identity: store.changeUser({ id: 7, role: 'Reader', timezone: 'UTC', … }), store.setRole({ name, canWrite, … }),
 *    store.revokeToken(token).
 * Requests: sandbox.requests.count({ method: 'select', status: 304, table: 'Note' }), .all, .find(…), .clear().
 * In the middle of a sweep:
 *    sandbox.before(2, () => sandbox.store.delete('Note', 1), { method: 'select' });   // before the 2nd select from
 *                                                                                      now on
 *    sandbox.answerInstead(1, { status: 503, headers: { 'Retry-After': '1' }, body: '' });
 *    sandbox.answerInstead(1, 'reset');                                                // cuts the connection
 *
 * Every table gets an Autonumber key `Id` in front unless `key` names one of its columns, and the five system columns
 * behind (kinds RecordOwner, CreatedBy, DateCreated, LastModifiedBy, DateModified) unless `systemColumns: false`.
 * `store.path` is the SQLite file in which every table stands under its own name; its internal columns start with
 * `_sandbox_` (`_sandbox_row` is the `@row.id`). Without `tables` the sandbox serves its sample data.
 */
import type { ServerResponse } from 'node:http';

import { systemClock } from '../../src/base/clock.ts';
import { startSandbox, type Sandbox, type SandboxOptions } from '../../src/sandbox/main.ts';
import type { SeenRequest } from '../../src/sandbox/server/requests.ts';

/** A sandbox with hooks; `await using` stops it. */
export interface TestSandbox extends Sandbox {
  /** Runs `action` before the `nth` request from now on (1 = the next one) that matches is answered. */
  before(nth: number, action: () => unknown, match?: HookMatch): void;
  /**
   * Answers the `nth` matching request from now on in the sandbox's place; `reset` cuts the connection without a
   * message.
   */
  answerInstead(nth: number, answer: RawAnswer | 'reset', match?: HookMatch): void;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Which requests a hook counts. */
export interface HookMatch {
  readonly method?: string;
  readonly table?: string;
}

/** An answer given byte by byte. */
export interface RawAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}

interface Hook {
  left: number;
  readonly match: HookMatch;
  readonly run: (response: ServerResponse) => boolean | Promise<boolean>;
}

/** Starts a sandbox on a free port; options as for `startSandbox`, with the real clock unless given. */
export async function startTestSandbox(options: Partial<SandboxOptions> = {}): Promise<TestSandbox> {
  const hooks: Hook[] = [];
  const sandbox = await startSandbox({
    clock: systemClock,
    ...options,
    intercept: async (request, response) => {
      const concerned = hooks.filter((hook) => matches(hook.match, request));
      // Every hook counts every request that matches it, also one that another hook answers.
      for (const hook of concerned) hook.left -= 1;
      for (const hook of concerned.filter(({ left }) => left === 0)) if (await hook.run(response)) return true;
      return (await options.intercept?.(request, response)) ?? false;
    },
  });
  return Object.assign(sandbox, {
    before: (nth: number, action: () => unknown, match: HookMatch = {}) => {
      const run = async (): Promise<boolean> => {
        await action();
        return false;
      };
      hooks.push({ left: nth, match, run });
    },
    answerInstead: (nth: number, answer: RawAnswer | 'reset', match: HookMatch = {}) => {
      hooks.push({ left: nth, match, run: (response) => sendRaw(response, answer) });
    },
    [Symbol.asyncDispose]: () => sandbox.stop(),
  });
}

function matches({ method, table }: HookMatch, request: SeenRequest): boolean {
  return (method === undefined || method === request.method) && (table === undefined || table === request.table);
}

function sendRaw(response: ServerResponse, answer: RawAnswer | 'reset'): boolean {
  if (answer === 'reset') response.destroy();
  else response.writeHead(answer.status, answer.headers).end(answer.body);
  return true;
}
