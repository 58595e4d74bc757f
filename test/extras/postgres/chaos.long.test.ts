/**
 * Both sides are killed at random moments, and every connection is cut in the middle of its work, while rows change,
 * tables are loaded and columns are renamed. Afterwards both sides are compared cell by cell. The sender is a process
 * of its own, killed without a warning; the server ends as in a crash; a proxy cuts what is said to it, or its answer.
 */
import { createServer, connect, type Socket, type Server } from 'node:net';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PgAddress } from '../../../src/extras/postgres/context.ts';
import { Random } from '../../../src/sandbox/data/random.ts';
import { noPostgres, startPostgres, type PostgresServer } from '../../support/postgres.ts';
import { startFixture, type Fixture } from '../../support/replica.ts';
import { newSeed } from '../../support/seeds.ts';
import { openWriter, replicaCells, targetCells } from '../../support/sink.ts';
import { NOTE } from '../../support/two-way.ts';

const KILLS = Number(process.env['ROWSYNC_KILLS'] ?? 220);
const CHILD = fileURLToPath(new URL('../../support/sink-child.ts', import.meta.url));
const ROWS = 3_000;

let server: PostgresServer;

/**
 * Where a connection is cut: behind so many bytes of what is sent, or once a text is seen, before or behind its answer.
 */
interface Cut {
  readonly bytes?: number;
  readonly at?: { readonly text: string; readonly side: 'before' | 'behind' };
}

/** A proxy in front of the server that cuts connections. */
async function startProxy(
  port: number,
): Promise<{ readonly port: number; cut: Cut | null; cutCount: number; close(): void }> {
  const sockets = new Set<Socket>();
  const proxy = { port: 0, cut: null as Cut | null, cutCount: 0, close: () => undefined as void };
  const listener: Server = createServer((client) => {
    const behind = connect(port, '127.0.0.1');
    for (const socket of [client, behind]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        behind.destroy();
      });
    }
    const end = (): void => {
      proxy.cut = null;
      proxy.cutCount += 1;
      client.destroy();
      behind.end();
    };
    let sent = 0;
    let isAnswerCut = false;
    client.on('data', (chunk) => {
      sent += chunk.length;
      const { cut } = proxy;
      const seen = cut?.at !== undefined && chunk.includes(cut.at.text);
      if ((seen && cut.at?.side === 'before') || (cut?.bytes !== undefined && sent > cut.bytes)) return end();
      if (seen) isAnswerCut = true;
      behind.write(chunk);
    });
    behind.on('data', (chunk) => {
      if (isAnswerCut) return end();
      client.write(chunk);
    });
  }).listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const address = listener.address();
  proxy.port = typeof address === 'object' && address !== null ? address.port : 0;
  proxy.close = () => {
    listener.close();
    for (const socket of sockets) socket.destroy();
  };
  return proxy;
}

/** Sends once in a process of its own, which is killed after so many steps, or milliseconds; returns how it ended. */
async function sendInChild(
  fixture: Fixture,
  address: PgAddress,
  kill: { readonly step?: string; readonly ms?: number },
): Promise<string> {
  const options = join(fixture.folder, 'child.json');
  writeFileSync(options, JSON.stringify({ path: fixture.path, address, kill }));
  const child = spawn(process.execPath, [CHILD, options], { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  const timer = kill.ms === undefined ? null : setTimeout(() => child.kill('SIGKILL'), kill.ms);
  await once(child, 'close');
  if (timer !== null) clearTimeout(timer);
  return child.signalCode === null ? text.trim() : 'killed';
}

const SPECS = ['Note', 'Other'].map((name) => ({
  ...NOTE,
  name,
  rows: Array.from({ length: ROWS }, (_, index) => ({ Title: `t ${index}`, Count: index / 8, Done: index % 3 === 0 })),
}));

function changeSome({ sandbox: { store } }: Fixture, random: Random): void {
  for (const table of ['Note', 'Other']) {
    for (let count = random.integer(0, 30); count > 0; count -= 1) {
      const id = random.pick(store.ids(table));
      if (random.chance(0.15)) store.delete(table, id);
      else store.update(table, id, { Title: `new ${random.integer(1, 9)}`, Count: random.integer(-5, 5) / 4 });
    }
    if (random.chance(0.5)) store.insert(table, { Title: `added ${random.integer(1, 99)}` });
  }
  if (random.chance(0.1)) {
    const name = store.table('Note').columns.find((column) => /^(?:Body|Text)$/.test(column.name))?.name;
    if (name !== undefined) store.renameColumn('Note', name, name === 'Body' ? 'Text' : 'Body');
  }
}

describe.skipIf(noPostgres !== null)('a sink under fire', () => {
  beforeAll(async () => {
    server = await startPostgres();
  }, 60_000);
  afterAll(() => server[Symbol.asyncDispose]());

  test(`ends with the same rows after ${KILLS} kills and cuts`, { timeout: 1_800_000 }, async () => {
    const seed = newSeed();
    process.stdout.write(`chaos: ROWSYNC_SEEDS=${seed}\n`);
    const random = new Random(seed);
    await using fixture = await startFixture({ tables: SPECS });
    const address = await server.database();
    const proxy = await startProxy(server.port);
    const through = { ...address, port: proxy.port };
    await (await openWriter(fixture, address)).close(); // the file remembers the sink
    await fixture.pull();
    const counts = { process: 0, server: 0, cut: 0 };
    const epochs = new Set<unknown>();
    try {
      while (counts.process + counts.server + counts.cut < KILLS) {
        changeSome(fixture, random);
        await fixture.pull({ confirm: true });
        // A load of everything now and then, to be broken like the rest.
        if (random.chance(0.2)) fixture.execute(`UPDATE _rowsync_sinks SET asked = '["Note"]'`);
        fixture.replica.close();
        const way = random.pick(['step', 'time', 'server', 'commit before', 'commit behind', 'bytes', 'bytes']);
        if (way === 'step')
          await sendInChild(fixture, through, { step: random.pick(['written', 'noted', 'committed', 'part']) });
        else if (way === 'time') await sendInChild(fixture, through, { ms: random.integer(150, 700) });
        else if (way === 'server') {
          const sending = sendInChild(fixture, through, {});
          await new Promise((resolve) => setTimeout(resolve, random.integer(150, 600)));
          await server.crash();
          await sending;
        } else {
          proxy.cut =
            way === 'bytes'
              ? { bytes: random.integer(500, 60_000) }
              : { at: { text: 'COMMIT', side: way === 'commit before' ? 'before' : 'behind' } };
          await sendInChild(fixture, through, {});
        }
        if (way === 'server') counts.server += 1;
        else if (way === 'step' || way === 'time') counts.process += 1;
        else counts.cut += 1;
        proxy.cut = null;
        const cursor = await server.rows(address, `SELECT epoch FROM crm._rowsync_cursor`).catch(() => []);
        for (const { epoch } of cursor) epochs.add(epoch);
        fixture.restart();
      }
      expect(proxy.cutCount).toBeGreaterThan(KILLS / 8);
      const writer = await openWriter(fixture, address);
      await fixture.pull({ confirm: true });

      await writer.work();

      expect(await targetCells(server, address)).toEqual(replicaCells(fixture.path));
      // Nothing was so unclear that all had to be compared anew.
      expect(epochs.size).toBe(1);
      await writer.close();
    } finally {
      proxy.close();
    }
  });
});
