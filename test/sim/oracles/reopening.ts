/**
 * Recovery is idempotent (I13). Opening a replica clears up a dead engine's traces. After that it is closed and opened
 * again, and nothing in it may have changed. Takes a life that has just begun, and the disk of its replica; produces
 * what differs.
 */
import type { Disk, Image } from '../world/disk.ts';
import type { Life } from '../world/engine.ts';

type Look = (statement: string) => readonly (readonly unknown[])[];

/** Opens the replica once more. @returns what that changed, a sentence a table. */
export function judgeReopening(life: Life, disk: Disk, look: Look): readonly string[] {
  const imageBefore = disk.image();
  life.reopen();
  // Where no byte was written, no row was.
  if (isSame(imageBefore, disk.image())) return [];
  const before = disk.lookInto(imageBefore, stateOf);
  const after = stateOf(look);
  const names = new Set([...before.keys(), ...after.keys()]);
  return [...names]
    .filter((name) => before.get(name) !== after.get(name))
    .map((name) => `opened again, ${name} is ${after.get(name) ?? 'gone'}, and was ${before.get(name) ?? 'not there'}`);
}

function isSame(one: Image, other: Image): boolean {
  const isEqual = (bytes: Uint8Array | null, others: Uint8Array | null): boolean =>
    Buffer.compare(bytes ?? new Uint8Array(), others ?? new Uint8Array()) === 0;
  return isEqual(one.main, other.main) && isEqual(one.log, other.log);
}

/** All rows of every table and the schema itself, each as one text. */
function stateOf(look: Look): ReadonlyMap<string, string> {
  const parts = look(`SELECT name, type, sql FROM sqlite_schema ORDER BY name`);
  const tables = parts.filter(([name, type]) => type === 'table' && name !== 'sqlite_stat1');
  const state = tables.map(([name]) => {
    const quoted = `"${String(name).replaceAll('"', '""')}"`;
    return [String(name), JSON.stringify(look(`SELECT * FROM ${quoted}`), textOf)] as const;
  });
  return new Map([...state, ['the schema', JSON.stringify(parts)]]);
}

/** Integers that are too large for a number come as such. */
function textOf(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? `${value}n` : value;
}
