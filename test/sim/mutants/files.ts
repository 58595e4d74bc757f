/**
 * Defences of attached files, each taken out by itself: what is synced before it is named, what is compared before it
 * is believed.
 */
import type { Mutant } from './mutant.ts';

/** Planted bugs of the work on files. */
export const FILE_MUTANTS: readonly Mutant[] = [
  {
    name: 'content-not-synced',
    without: 'A file gets its final name without its content having been synced.',
    edits: [{ file: 'files/store.ts', find: 'await this.#file.sync();', replace: '' }],
  },
  {
    name: 'names-not-synced',
    without: 'The folder of a file that got its final name is not synced before its row names it.',
    edits: [
      {
        file: 'files/store.ts',
        find: 'await Promise.all([this.folder, ...folders].map((folder) => this.#files.sync(folder)));',
        replace: '',
      },
    ],
  },
  {
    name: 'new-store-not-synced',
    without: 'The folders above a new store are not synced.',
    edits: [{ file: 'files/store.ts', find: 'if (isNew) await syncAbove(files, folder);', replace: '' }],
  },
  {
    name: 'row-before-file',
    without: 'The row says that a file is here before the file has its final name.',
    edits: [
      {
        file: 'files/download.ts',
        find: '    await store.keep(complete.map(({ file }) => file));\n',
        replace: '',
      },
      {
        file: 'files/download.ts',
        find: '        storeFileHere(tx, id, file);\n      }\n    });\n',
        replace:
          '        storeFileHere(tx, id, file);\n      }\n    });\n    await store.keep(complete.map(({ file }) => file));\n',
      },
    ],
  },
  {
    name: 'length-not-compared',
    without: 'A download that is shorter than announced is taken for the file.',
    edits: [
      {
        file: 'reconcile/files.ts',
        find: 'if (came.length !== null && came.length !== came.bytes) {',
        replace: 'if (came.length === -1) {',
      },
    ],
  },
  {
    name: 'any-revision-is-ours',
    without: 'The revision that a cell shows after an upload is taken for ours, whatever its number.',
    edits: [
      {
        file: 'reconcile/files.ts',
        find: 'return before !== undefined && file.revision === before + 1 ? file : null;',
        replace: 'return before !== undefined ? file : null;',
      },
    ],
    equivalent:
      'each file of a world has a name of its own, so that the name tells ours from those of colleagues (number-is-enough)',
  },
  {
    name: 'failed-files-forgotten',
    without: 'A file whose download failed is not tried again.',
    edits: [
      {
        file: 'replica/bookkeeping/files.ts',
        find: "AND f.state <> 'here' AND f.vanished_at IS NULL",
        replace: "AND f.state NOT IN ('here', 'failed') AND f.vanished_at IS NULL",
      },
    ],
  },
  {
    name: 'lost-upload-not-compared',
    without: 'Nobody looks whether a file arrived whose answer got lost.',
    edits: [
      {
        file: 'push/attached-files.ts',
        find: `return fate === 'compare' ? compareFile(run, fileAtOrigin) : fate;`,
        replace: `return fate === 'compare' ? (fileAtOrigin.remote === null ? compareFile(run, fileAtOrigin) : 'absent') : fate;`,
      },
    ],
  },
  {
    name: 'emptied-cell-is-proof',
    without: 'An empty cell says that a file never came whose answer got lost, though it showed another one before.',
    edits: [
      {
        file: 'reconcile/files.ts',
        find: `fileFromCell(remote) !== null ? 'compare' : 'unclear'`,
        replace: `fileFromCell(remote) !== null ? 'compare' : 'absent'`,
      },
    ],
  },
  {
    name: 'number-is-enough',
    without: 'A revision is taken for ours by its number alone, whatever its name and however old the answer.',
    edits: [
      {
        file: 'reconcile/files.ts',
        find: 'if (file?.name !== shownFile(sent.name)) return null;',
        replace: 'if (file === null || shownFile(sent.name) === null) return null;',
      },
      {
        file: 'push/attached-files.ts',
        find: 'return isAtOnce && acceptedRevision(',
        replace: 'return (isAtOnce || !isAtOnce) && acceptedRevision(',
      },
    ],
  },
  {
    name: 'former-file-is-an-edit',
    without:
      'The file that the origin had counts as an edit where REPLACE put it back while another one is on its way.',
    edits: [
      {
        file: 'reconcile/push-settle.ts',
        find: '    if (isPutBack) continue;',
        replace: '    if (isPutBack && file === undefined) continue;',
      },
    ],
  },
];
