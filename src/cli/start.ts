#!/usr/bin/env node
/**
 * What the package starts: looks whether this Node can run the program, lets V8 keep the compiled program, then loads
 * main.ts as it was bundled. A checkout starts main.ts itself. Every Node since 12 must be able to read this file.
 *
 * The cache holds code that will run, so it is where no other user writes: in the home folder that the system names. A
 * variable of the environment never says where. Where that is not writable, the program is compiled anew.
 */
import { enableCompileCache } from 'node:module';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { EXIT } from '../base/errors.ts';
import { keepDebuggerShut } from '../base/node-flags.ts';

/** The oldest Node that the program runs on; as `engines` in package.json says it. */
const NODE_MIN = 24;

/** Null for a user that the system does not know, as in containers. */
function homeFolder(): string | null {
  try {
    return userInfo().homedir;
  } catch {
    return null;
  }
}

function start(): void {
  const { node } = process.versions;
  if (Number.parseInt(node, 10) < NODE_MIN) {
    process.stderr.write(
      `error: rowsync needs Node ${NODE_MIN} or newer, and ${process.execPath} is Node ${node}; ` +
        'get one from https://nodejs.org, or use the Debian package or the executable, which need none\n',
    );
    process.exitCode = EXIT.usage;
    return;
  }
  const home = homeFolder();
  if (home !== null) enableCompileCache(join(home, '.cache', 'rowsync'));
  void import('./main.ts');
}

keepDebuggerShut();
start();
