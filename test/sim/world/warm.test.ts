/**
 * What worlds begin with: the same as if it had been pulled under their own setup, whatever of it was written into a
 * copy. Moments are left out, since other requests take other times.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { Disk, type Start } from './disk.ts';
import { loadEngine, type EngineModules } from './engine.ts';
import type { FilesSetup } from './files-setup.ts';
import { calmSetup, drawSetup, type Setup } from './setup.ts';
import { Tapes } from './tape.ts';
import { WarmStarts } from './warm.ts';
import { World } from './world.ts';

let modules: EngineModules;
let disk: Disk;

beforeAll(async () => {
  modules = await loadEngine(new URL('../../../src/', import.meta.url));
  disk = new Disk((path) => modules.openReplica(path, { clock: systemClock }).close());
});

afterAll(() => disk[Symbol.dispose]());

const NOTHING = { files: null, hideWeight: 0 };
const FILES: FilesSetup = { mode: 'latest', showsHistory: true, maxFileBytes: null, everyRows: 2, weight: 8 };

const KINDS: readonly (readonly [what: string, setup: Partial<Setup>])[] = [
  ['no match column', { match: null }],
  ['weak ETags', { etag: 'weak' }],
  ['ETags of the whole table', { etag: 'table' }],
  ['ETags that change by themselves', { etag: 'flaky' }],
  ['such ETags and no rows', { etag: 'flaky', rowCount: 0 }],
  ['all revisions of files', { files: { ...FILES, mode: 'all' } }],
  ['files that are left out', { files: { ...FILES, maxFileBytes: 40 } }],
  ['a bound that no file reaches', { rowCount: 2, files: { ...FILES, maxFileBytes: 40, everyRows: 3 } }],
  ['files without history', { files: { ...FILES, showsHistory: false, mode: 'all' } }],
];

describe('a world that begins with a replica', () => {
  test.each(KINDS)('finds it as if it had been pulled so, with %s', async (_what, kind) => {
    const setup = { ...drawSetup(Tapes.fromRecord(0, {}).of('setup'), NOTHING), rowCount: 6, ...kind };
    const warm = new WarmStarts();
    // Fitted from one that was pulled for another kind.
    await warm.startOf({ ...setup, match: 'Code', etag: 'page' }, disk, pull);

    const start = await warm.startOf(setup, disk, pull);
    const { match, etag, files } = setup;
    const pulled = await pull({ ...calmSetup(setup).calm, match, etag, files });

    expect(contentOf(start)).toEqual(contentOf(pulled));
  });

  test('finds no ETags where the origin gives none', async () => {
    const setup = { ...drawSetup(Tapes.fromRecord(0, {}).of('setup'), NOTHING), rowCount: 6, etag: 'absent' } as const;

    const { main } = await new WarmStarts().startOf(setup, disk, pull);

    const [pages, descriptors] = disk.lookInto({ main, log: null }, (look) => [
      look('SELECT DISTINCT etag FROM _rowsync_pages'),
      look('SELECT DISTINCT etag FROM _rowsync_descriptors'),
    ]);
    expect({ pages, descriptors }).toEqual({ pages: [[null]], descriptors: [['']] });
  });
});

async function pull(calm: Setup): Promise<Start> {
  const world = new World(Tapes.fromRecord(0, {}), calm, { modules, disk, warm: new WarmStarts(), start: null });
  try {
    await world.run();
  } finally {
    world.close();
  }
  expect(world.result().failure).toBeNull();
  return { ...disk.keep(), files: world.fileImage() };
}

/** Every row of every table, by tables, and the files. */
function contentOf({ main, files }: Start): unknown {
  const rows = disk.lookInto({ main, log: null }, (look) =>
    look(`SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name`).map(([name]) => [
      name,
      look(`SELECT * FROM "${String(name)}"`).map((row) => row.map(withoutMoment)),
    ]),
  );
  return { rows, files };
}

function withoutMoment(value: unknown): unknown {
  return typeof value === 'string' && /^\d{4}-\d\d-\d\dT[\d:]+Z$/.test(value) ? 'a moment' : value;
}
