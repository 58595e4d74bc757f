/**
 * Other programs in which people write SQL, for one statement or script each.
 *
 *    test.skipIf(!shell.isUsable)(`… by ${shell.name}`, () => void shell.run(fixture.path, `UPDATE "Note" …`));
 */
import { spawnSync } from 'node:child_process';

/** Such a program; its answer has what it wrote as an error, and its exit code. */
export interface Shell {
  readonly name: string;
  /** False where it is not installed, or its SQLite has no STRICT tables (before 3.37). */
  readonly isUsable: boolean;
  readonly run: (path: string, sql: string) => { readonly status: number | null; readonly stderr: string };
}

const PYTHON = 'import sqlite3, sys\ndb = sqlite3.connect(sys.argv[1])\ndb.executescript(sys.argv[2])\ndb.commit()';

function shellOf(name: string, command: readonly string[]): Shell {
  const run: Shell['run'] = (path, sql) => {
    const [program, ...args] = [...command, path, sql];
    const { status, stderr } = spawnSync(program, args, { encoding: 'utf8' });
    return { status, stderr };
  };
  const isUsable = run(':memory:', 'CREATE TABLE t (a ANY) STRICT').status === 0;
  return { name: isUsable ? name : `${name} (skipped: missing or too old)`, isUsable, run };
}

export const SHELLS: readonly Shell[] = [
  shellOf('sqlite3', ['sqlite3']),
  shellOf('python3', ['python3', '-c', PYTHON]),
];
