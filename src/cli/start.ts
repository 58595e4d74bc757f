#!/usr/bin/env node
/**
 * What the package starts: lets V8 keep the compiled program, then loads main.ts as it was bundled. A checkout starts main.ts itself.
 *
 * The cache holds code that will run, so it stands where nobody else writes: in the home folder that the system names for the
 * user, never where a variable of the environment points to. Where that is not writable, the program is compiled anew.
 */
import { createRequire, enableCompileCache } from 'node:module';
import { userInfo } from 'node:os';
import { join } from 'node:path';

/** Null for a user that the system does not know, as in containers. */
function homeFolder(): string | null {
  try {
    return userInfo().homedir;
  } catch {
    return null;
  }
}

const home = homeFolder();
if (home !== null) enableCompileCache(join(home, '.cache', 'rowsync'));
// Not import(): that would look through the whole bundle for what it exports.
createRequire(import.meta.url)('./program.cjs');
