/**
 * A daemon whose page has something to decide: a conflict about a title, and a row that the origin refused.
 *
 *    await using sandbox = await startTestSandbox({ tables: [NOTE] });
 *    await using daemon = await startTroubled(sandbox);
 *    const browser = await signIn(daemon);         // the cookie and the token of who has signed in
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startDaemon, type TestDaemon } from './daemon.ts';
import { ask, portOf } from './http.ts';
import type { TestSandbox } from './sandbox.ts';

/** What the configuration of such a daemon says beside origin and replica. */
export const PAGE_YAML = `http: { listen: "127.0.0.1:0" }\ntables: { "*": { push: true, conflict: ask } }\n`;

/** Starts it; the sandbox serves the table NOTE. */
export async function startTroubled(sandbox: TestSandbox, yaml = PAGE_YAML): Promise<TestDaemon> {
  const daemon = startDaemon(sandbox, yaml);
  await daemon.idle();
  daemon.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1; UPDATE "Note" SET "Code" = 'c3' WHERE _id = 2`);
  sandbox.store.update('Note', 1, { Title: 'theirs' });
  await daemon.elapse(5);
  return daemon;
}

/** The key of its page. */
export function keyOf(daemon: TestDaemon): string {
  return readFileSync(join(daemon.folder, 'replica.db.page-key'), 'utf8').trim();
}

/** A browser that has signed in, as far as the server can tell. */
export interface SignedIn {
  readonly port: number;
  readonly cookie: string;
  readonly token: string;
  /** What the form of the first conflict was made from. */
  readonly seen: string;
  readonly key: string;
}

/** Signs in, and reads the token off the page. */
export async function signIn(daemon: TestDaemon): Promise<SignedIn> {
  const port = portOf(daemon);
  const key = keyOf(daemon);
  const { headers } = await ask({ port }, '/sign-in', postOf({ key }, port));
  const cookie = (headers['set-cookie']?.[0] ?? '').split(';')[0] ?? '';
  const { body } = await ask({ port }, '/', { headers: { Host: `127.0.0.1:${port}`, Cookie: cookie } });
  const token = /name="token"\s+value="([^"]+)"/.exec(body)?.[1] ?? '';
  return { port, key, cookie, token, seen: seenIn(body) };
}

/** What the first form of a conflict in a page was made from. */
export function seenIn(body: string): string {
  return /&quot;seen&quot;:&quot;([^&]+)&quot;/.exec(body)?.[1] ?? '';
}

/** The fields of the form of a conflict, or of what is given in their place. */
export function decisionFields(
  { seen }: Pick<SignedIn, 'seen'>,
  { take = 'local', value, ...decision }: Readonly<Record<string, unknown>> = {},
): Record<string, string> {
  if (decision['kind'] !== undefined) return { decision: JSON.stringify(decision) };
  const resolve = { kind: 'resolve', id: 1, seen, ...decision };
  return {
    decision: JSON.stringify(resolve),
    take: String(take),
    ...(typeof value === 'string' ? { value } : {}),
  };
}

/** A form as a browser sends it. */
export function postOf(
  fields: Readonly<Record<string, string>>,
  port: number,
  headers: Readonly<Record<string, string>> = {},
): { readonly method: string; readonly headers: Record<string, string>; readonly body: string } {
  const body = new URLSearchParams(fields).toString();
  const host = `127.0.0.1:${port}`;
  return {
    method: 'POST',
    body,
    headers: {
      Host: host,
      Origin: `http://${host}`,
      'Content-Type': 'application/x-www-form-urlencoded',
      'Content-Length': String(Buffer.byteLength(body)),
      ...headers,
    },
  };
}
