/** Which mutants the compiler refuses: each is a copy of its file, and all copies are compiled at once. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Mutant } from './mutate.ts';

/** Ids of those that are no program. */
export function refusedByCompiler(top: string, mutants: readonly Mutant[]): ReadonlySet<number> {
  const folder = mkdtempSync(join(tmpdir(), 'rowsync-mutation-'));
  try {
    cpSync(join(top, 'src'), join(folder, 'src'), { recursive: true });
    for (const name of ['node_modules', 'package.json']) symlinkSync(join(top, name), join(folder, name));
    const { compilerOptions } = JSON.parse(readFileSync(join(top, 'tsconfig.json'), 'utf8')) as {
      compilerOptions: object;
    };
    const files = mutants.map(({ file, id, start, from, to }) => {
      const source = readFileSync(join(top, file), 'utf8');
      const copy = file.replace(/\.ts$/, `.mutant-${id}.ts`);
      const replacement = to === '' ? ';' : `(${to})`;
      writeFileSync(join(folder, copy), source.slice(0, start) + replacement + source.slice(start + from.length));
      return copy;
    });
    const config = {
      compilerOptions: { ...compilerOptions, noUnusedLocals: false, noUnusedParameters: false },
      files,
    };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
    const { stdout } = spawnSync(join(top, 'node_modules/.bin/tsc'), ['--pretty', 'false'], {
      cwd: folder,
      encoding: 'utf8',
      maxBuffer: 1 << 28,
    });
    return new Set([...stdout.matchAll(/\.mutant-(\d+)\.ts\(/g)].map(([, id]) => Number(id)));
  } finally {
    rmSync(folder, { recursive: true });
  }
}
