/** Eight removals of a sync, each of which the power cuts have to find. */
import type { Mutant } from '../sim/mutants/mutant.ts';

/** The removals. */
export const REMOVALS: readonly Mutant[] = [
  {
    name: 'store-file',
    without: 'A file of the store gets its name without its content having been synced.',
    edits: [{ file: 'files/store.ts', find: 'await this.#file.sync();', replace: '' }],
  },
  {
    name: 'store-folder',
    without: 'The name of a new folder of the store is not synced.',
    edits: [
      {
        file: 'files/store.ts',
        find: 'await Promise.all([this.folder, ...folders].map((folder) => this.#files.sync(folder)));',
        replace: 'await Promise.all(folders.map((folder) => this.#files.sync(folder)));',
      },
    ],
  },
  {
    name: 'rename',
    without: 'The folder of a file that got its final name is not synced.',
    edits: [
      {
        file: 'files/store.ts',
        find: 'await Promise.all([this.folder, ...folders].map((folder) => this.#files.sync(folder)));',
        replace: 'await this.#files.sync(this.folder);',
      },
    ],
  },
  {
    name: 'backup',
    without: 'The folder of a backup is not synced when it has its name.',
    edits: [{ file: 'replica/copy-file.ts', find: '  syncToDisk(dirname(to));\n', replace: '' }],
  },
  {
    name: 'intent',
    without: 'What is about to be sent is not on the disk before it leaves.',
    edits: [
      {
        file: 'replica/database.ts',
        find: "return this.#transact(what, change, { synchronous: 'FULL', end: 'COMMIT', signal });",
        replace: "return this.#transact(what, change, { synchronous: 'NORMAL', end: 'COMMIT', signal });",
      },
    ],
  },
  {
    name: 'sent',
    without: 'The count beside the replica is not synced before it gets its name.',
    edits: [
      {
        file: 'replica/older-copy.ts',
        find: "import { takeName } from './copy-file.ts';\n",
        replace: `import { renameSync } from 'node:fs';
import { dirname } from 'node:path';
import { syncToDisk } from './copy-file.ts';
function takeName(from: string, to: string): void {
  renameSync(from, to);
  syncToDisk(dirname(to));
}
`,
      },
    ],
  },
  {
    name: 'log',
    without: 'SQLite syncs neither the log nor what goes from it into the file.',
    edits: [
      { file: 'replica/database.ts', find: "['synchronous', 1],", replace: "['synchronous', 0]," },
      {
        file: 'replica/database.ts',
        find: "if (options.synchronous === 'FULL') this.#open.db.exec('PRAGMA synchronous = NORMAL');",
        replace: "if (options.synchronous === 'FULL') this.#open.db.exec('PRAGMA synchronous = OFF');",
      },
      {
        file: 'replica/older-copy.ts',
        find: "db.pragma('synchronous = NORMAL');",
        replace: "db.pragma('synchronous = OFF');",
      },
    ],
  },
  {
    name: 'export',
    without: 'A file of an export gets its name before its content is on the disk.',
    edits: [{ file: 'replica/copy-file.ts', find: '  syncToDisk(from);\n', replace: '' }],
  },
];
