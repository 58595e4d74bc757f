/**
 * People edit here, colleagues edit there, pulls come in between, in any order: no edit made here is ever lost, and no
 * value appears that nobody wrote. Every written value is unlike any other, so each one can be looked for.
 */
import { expect, test } from 'vitest';
import { verify } from '../../src/extras/verify/verify.ts';
import { Random } from '../../src/sandbox/data/random.ts';
import { quoted } from '../support/compare.ts';
import type { Fixture } from '../support/replica.ts';
import { seeds } from '../support/seeds.ts';
import { captured, startTwoWay } from '../support/two-way.ts';

const STEP_COUNT = 40;
const COLUMNS = ['Title', 'Body'] as const;

interface Scene {
  readonly fixture: Fixture;
  readonly random: () => number;
  /** Values written here that nothing written or deleted here has replaced since. */
  readonly standing: Set<string>;
  readonly writtenHere: Set<string>;
  readonly writtenThere: Set<string>;
  count: number;
}

function pick<T>(scene: Scene, list: readonly T[]): T | undefined {
  return list[Math.floor(scene.random() * list.length)];
}

function token(scene: Scene, side: 'here' | 'there'): string {
  scene.count += 1;
  const text = `${side} ${scene.count}`;
  (side === 'here' ? scene.writtenHere : scene.writtenThere).add(text);
  return text;
}

function localRows({
  fixture,
}: Scene): readonly { readonly _id: number; readonly Title: string; readonly Body: string }[] {
  return fixture.rows('SELECT _id, "Title", "Body" FROM "Note"') as { _id: number; Title: string; Body: string }[];
}

const STEPS: Readonly<Record<string, (scene: Scene) => void | Promise<unknown>>> = {
  editHere: (scene) => {
    const row = pick(scene, localRows(scene));
    const column = pick(scene, COLUMNS);
    if (row === undefined || column === undefined) return;
    const text = token(scene, 'here');
    scene.standing.delete(row[column]);
    scene.standing.add(text);
    const verb = pick(scene, ['UPDATE', 'UPDATE OR REPLACE', 'UPDATE OR IGNORE']);
    scene.fixture.execute(`${verb} "Note" SET ${quoted(column)} = '${text}' WHERE _id = ${row._id}`);
  },
  replaceHere: (scene) => {
    const row = pick(scene, localRows(scene));
    if (row === undefined) return;
    const text = token(scene, 'here');
    scene.standing.delete(row.Title);
    scene.standing.delete(row.Body);
    scene.standing.add(text);
    scene.fixture.execute(`PRAGMA recursive_triggers = ${scene.random() < 0.5 ? 'ON' : 'OFF'};
      INSERT OR REPLACE INTO "Note" (_id, "Title") VALUES (${row._id}, '${text}')`);
  },
  insertHere: (scene) => {
    const text = token(scene, 'here');
    scene.standing.add(text);
    scene.fixture.execute(`INSERT INTO "Note" ("Title") VALUES ('${text}')`);
  },
  deleteHere: (scene) => {
    const row = pick(scene, localRows(scene));
    if (row === undefined) return;
    for (const column of COLUMNS) scene.standing.delete(row[column]);
    scene.fixture.execute(`DELETE FROM "Note" WHERE _id = ${row._id}`);
  },
  rollBackHere: (scene) => {
    scene.fixture.execute(`BEGIN; UPDATE "Note" SET "Title" = 'never'; DELETE FROM "Note" WHERE _id % 2; ROLLBACK`);
  },
  editThere: (scene) => {
    const row = pick(scene, scene.fixture.sandbox.store.rows('Note'));
    const column = pick(scene, COLUMNS);
    if (row === undefined || column === undefined) return;
    scene.fixture.sandbox.store.update('Note', row.id, { [column]: token(scene, 'there') });
  },
  insertThere: (scene) => {
    scene.fixture.sandbox.store.insert('Note', { Title: token(scene, 'there') });
  },
  deleteThere: (scene) => {
    const row = pick(scene, scene.fixture.sandbox.store.rows('Note'));
    if (row !== undefined) scene.fixture.sandbox.store.delete('Note', row.id);
  },
  agree: (scene) => {
    // A colleague writes what someone wrote here.
    const row = pick(
      scene,
      localRows(scene).filter(({ _id }) => scene.fixture.sandbox.store.rows('Note').some(({ id }) => id === _id)),
    );
    if (row !== undefined) scene.fixture.sandbox.store.update('Note', row._id, { Title: row.Title });
  },
  pull: (scene) => scene.fixture.pull({ confirm: true }),
  restart: (scene) => scene.fixture.restart(),
  decide: (scene) => {
    const take = pick(scene, ['local', 'remote', 'base']);
    const open = scene.fixture.rows(`SELECT id, row_id, "column" FROM sync_conflicts WHERE state = 'open'`) as {
      id: number;
      row_id: number;
      column: 'Title' | 'Body' | null;
    }[];
    const conflict = pick(scene, open);
    if (conflict === undefined) return;
    // Whoever decides against what is here has seen it.
    const row = localRows(scene).find(({ _id }) => _id === conflict.row_id);
    const given = conflict.column === null ? COLUMNS : [conflict.column];
    if (take !== 'local' && row !== undefined) for (const column of given) scene.standing.delete(row[column]);
    scene.fixture.execute(`UPDATE sync_conflicts SET resolution = '${take}' WHERE id = ${conflict.id}`);
  },
};

/** Everything that is kept of what was written: the table, and what lost. */
function keptTexts({ fixture }: Scene): string {
  return JSON.stringify([
    fixture.rows('SELECT "Title", "Body" FROM "Note"'),
    fixture.rows('SELECT local FROM sync_conflicts'),
  ]);
}

test.each(seeds(10).flatMap((seed) => (['origin', 'local', 'ask'] as const).map((conflict) => ({ seed, conflict }))))(
  'keeps every edit with conflict: $conflict, seed $seed',
  async ({ seed, conflict }) => {
    await using fixture = await startTwoWay({ editing: { conflict }, pageRows: 3 });
    const random = new Random(seed);
    const scene: Scene = {
      fixture,
      random: () => random.next(),
      standing: new Set(),
      writtenHere: new Set(),
      writtenThere: new Set(),
      count: 0,
    };
    const names = Object.keys(STEPS);

    for (let step = 0; step < STEP_COUNT; step += 1) await STEPS[pick(scene, names) ?? 'pull']?.(scene);
    await fixture.pull({ confirm: true });
    await fixture.pull({ confirm: true });

    const kept = keptTexts(scene);
    expect([...scene.standing].filter((text) => !kept.includes(JSON.stringify(text).slice(1, -1)))).toEqual([]);
    const invented = localRows(scene)
      .flatMap(({ Title, Body }) => [Title, Body])
      .filter(
        (text) =>
          text !== null && !text.startsWith('title ') && !scene.writtenHere.has(text) && !scene.writtenThere.has(text),
      );
    expect(invented).toEqual([]);
    // What the origin confirmed is what the origin has; whatever differs is a change.
    const { tables } = await verify(fixture.context(), { tables: [] });
    expect(tables).toMatchObject([{ mismatchCount: 0, error: null }]);
    const changes = await captured(fixture);
    const [ledger] = fixture.rows('SELECT pending + parked AS marked FROM sync_status') as { marked: number }[];
    expect(ledger?.marked).toBe(changes.length);
  },
);
