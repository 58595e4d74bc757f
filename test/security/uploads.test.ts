/**
 * Whoever may edit the replica names the files that rowsync attaches, and rowsync may read more than he may. What it
 * signs in with never leaves it as a file, under whatever name and wherever in the file it stands.
 */
import { copyFileSync, linkSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, test } from 'vitest';
import { carryOutDecision } from '../../src/capture/person-decision.ts';
import { revisionsAt, startAlbum } from '../support/album.ts';
import { makeWorkspace } from '../support/child.ts';
import { withDatabase } from '../support/compare.ts';
import { fileOf } from '../support/files.ts';
import { atOrigin, codesOf } from '../support/push.ts';
import { startTestSandbox, type TestSandbox } from '../support/sandbox.ts';
import { runCli } from '../support/session.ts';
import { AT } from '../support/two-way.ts';

const TABLE = {
  name: 'Note',
  columns: [
    { name: 'Title', type: 'Text' },
    { name: 'Photo', type: 'Attachment' },
  ],
  rows: [{ Title: 'a' }, { Title: 'b' }],
} as const;

/** What a piece of a file that is read in one go has in bytes. */
const PIECE_BYTES = 256 * 1_024;

const YAML = 'tables: { Note: { push: true } }\n';

/** Content of all files at the origin. */
function filesAtOrigin({ store }: TestSandbox): readonly string[] {
  return withDatabase(store.path, (db) =>
    db.prepare<[], string>('SELECT CAST(bytes AS TEXT) FROM _sandbox_files').pluck().all(),
  );
}

/** Pushes a row that attaches the file at this path; says why it waits. */
async function attach(folder: string, path: string): Promise<readonly unknown[]> {
  const db = new Database(join(folder, 'replica.db'));
  try {
    db.prepare(`UPDATE "Note" SET "Photo" = 'file:' || ? WHERE _id = 1`).run(path);
    await runCli(['push'], { folder });
    return db.prepare('SELECT reason FROM sync_failures').pluck().all();
  } finally {
    db.close();
  }
}

describe('a file that the origin shows under the name of one of this machine', () => {
  /**
   * A file of the origin whose cell names a file here. A row that was edited here is taken back as a new one, with what
   * stands in that cell.
   */
  test.each<[string, string, readonly string[]]>([
    ['by itself', '', []],
    ['beside one that is attached here', `"Scan" = 'file:own.txt',`, ['own.txt 1 mine']],
  ])('is not sent with a row that is taken back, %s', async (_what, more, arrived) => {
    await using fixture = await startAlbum({ match: 'Code' });
    fixture.put('own.txt', 'mine');
    fixture.sandbox.store.update('Album', 1, { Photo: fileOf(`file:${fixture.uploads}/private`, 'theirs') });
    await fixture.pull();
    const [cell] = fixture.rows('SELECT "Photo" FROM "Album" WHERE _id = 1') as readonly { readonly Photo: string }[];
    // An origin may say anything there; the sandbox has its number and guid behind the name.
    const path = cell?.Photo.replace(/^file(?::|%3A)/, '') ?? '';
    writeFileSync(path, 'what only rowsync may read');
    fixture.execute(`UPDATE "Album" SET ${more} "Title" = 'edited' WHERE _id = 1`);
    fixture.sandbox.store.delete('Album', 1);

    await fixture.upload({ confirm: true });
    const [conflict] = fixture.rows(`SELECT id FROM sync_conflicts WHERE kind = 'deletedThere'`) as { id: number }[];
    const decision = { kind: 'resolve', id: conflict?.id ?? 0, take: 'local', value: null, isAgain: true } as const;
    await carryOutDecision(fixture.replica, decision, AT);

    const report = await fixture.upload({ confirm: true });

    expect(path).toContain('/private;1;');
    expect(codesOf(report)).toEqual([]);
    expect(fixture.rows('SELECT * FROM sync_failures')).toEqual([]);
    expect(atOrigin(fixture, ['Title', 'Code'], 'Album').at(-1)).toEqual([4, 'edited', 'c1']);
    expect(revisionsAt(fixture, 4)).toEqual(arrived);
  });
});

describe.each([
  ['token', 'tokenFile: token'],
  ['password', 'user: EMAIL, passwordFile: token'],
])('the %s', (_kind, origin) => {
  /** A workspace whose secret stands in the file `token`, after a first pull. */
  async function start(): Promise<{ sandbox: TestSandbox; folder: string; secret: string } & AsyncDisposable> {
    const sandbox = await startTestSandbox({ tables: [TABLE] });
    const workspace = makeWorkspace(sandbox, YAML);
    const { folder } = workspace;
    const secret = origin.startsWith('user') ? sandbox.user.password : sandbox.token;
    const config = readFileSync(join(folder, 'rowsync.yaml'), 'utf8');
    writeFileSync(
      join(folder, 'rowsync.yaml'),
      config.replace('tokenFile: token', origin.replace('EMAIL', sandbox.user.email)),
    );
    writeFileSync(join(folder, 'token'), `${secret}\n`, { mode: 0o600 });
    await runCli(['pull'], { folder });
    return {
      sandbox,
      folder,
      secret,
      [Symbol.asyncDispose]: async () => {
        workspace[Symbol.dispose]();
        await sandbox[Symbol.asyncDispose]();
      },
    };
  }

  test.each<[string, (folder: string, secret: string) => string]>([
    ['in its own file', (folder) => join(folder, 'token')],
    ['behind a link', (folder) => (symlinkSync(join(folder, 'token'), join(folder, 'a.png')), join(folder, 'a.png'))],
    ['under a second name', (folder) => (linkSync(join(folder, 'token'), join(folder, 'b')), join(folder, 'b'))],
    ['in a copy', (folder) => (copyFileSync(join(folder, 'token'), join(folder, 'c')), join(folder, 'c'))],
    [
      'where two pieces of a long file meet',
      (folder, secret) => {
        writeFileSync(join(folder, 'd'), `${'x'.repeat(PIECE_BYTES - 5)}${secret}${'x'.repeat(PIECE_BYTES)}`);
        return join(folder, 'd');
      },
    ],
  ])('does not leave as an attached file, %s', async (_where, make) => {
    await using world = await start();

    const reasons = await attach(world.folder, make(world.folder, world.secret));

    expect(filesAtOrigin(world.sandbox)).toEqual([]);
    expect(reasons).toEqual(['the file holds a token or password of rowsync itself, which is not sent']);
  });

  test('keeps no other file back', async () => {
    await using world = await start();
    const content = `${world.secret.slice(0, -1)} and ${world.secret.slice(1)}`;
    writeFileSync(join(world.folder, 'e'), content);

    expect(await attach(world.folder, join(world.folder, 'e'))).toEqual([]);
    expect(filesAtOrigin(world.sandbox)).toEqual([content]);
  });
});
