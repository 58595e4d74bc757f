/**
 * The Debian package: the executable with its machine code in /usr/lib, units, user, folders, manual, completions.
 * Every file in it has the time of the commit.
 */
import { chmodSync, cpSync, mkdirSync, readFileSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { UNIT_FILES } from '../src/extras/service/service-plan.ts';
import { runProgram, TOP } from './paths.ts';
import { addonOf, type Platform } from './platforms.ts';

/** What a package is made of. */
export interface DebianParts {
  readonly platform: Platform;
  readonly executable: string;
  /** The executable for this machine, which prints manual and completions. */
  readonly printer: string;
  readonly version: string;
  /** Seconds since 1970. */
  readonly builtAt: number;
  /** The licenses of all that is in it. */
  readonly licenses: string;
}

/** Where systemd looks for what belongs to packages, by the ending of the file. */
const UNIT_FOLDERS: readonly (readonly [string, string, string])[] = [
  ['rowsync.sysusers.conf', 'usr/lib/sysusers.d', 'rowsync.conf'],
  ['rowsync.tmpfiles.conf', 'usr/lib/tmpfiles.d', 'rowsync.conf'],
];

/** What users read and take examples from, under the same names as here, so that links hold. */
const DOCUMENTS = ['README.md', 'llms.txt', 'config', 'docs', 'docs/images', 'docs/reference'] as const;

function documentsIn(path: string): readonly string[] {
  if (!statSync(join(TOP, path)).isDirectory()) return [path];
  const entries = readdirSync(join(TOP, path), { withFileTypes: true });
  return entries.flatMap((entry) => (entry.isFile() ? [`${path}/${entry.name}`] : []));
}

const COPYRIGHT = `
What stands in the executable (Node.js with its libraries, and packages of npm) has licenses of its own, in
licenses.txt.gz beside this file. The text of the Apache license is in /usr/share/common-licenses/Apache-2.0.
`;

/** The changelog in the form that Debian's tools read; people read CHANGELOG.md. */
function debianChangelog(control: string, version: string, builtAt: number): string {
  const maintainer = /^Maintainer: (.*)$/m.exec(control)?.[1] ?? '';
  const date = new Date(builtAt * 1000).toUTCString().replace('GMT', '+0000');
  return `rowsync (${version}) unstable; urgency=medium\n\n  * See CHANGELOG.md.gz.\n\n -- ${maintainer}  ${date}\n`;
}

/** Builds the package in a folder that is empty or absent, which afterwards holds its content. */
export function buildDebian(parts: DebianParts, root: string, deb: string): void {
  const { platform, executable, printer, version, builtAt, licenses } = parts;
  const put = (path: string, data: string | Uint8Array, mode = 0o644): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), data);
    chmodSync(join(root, path), mode);
  };
  const say = (...args: readonly string[]): Buffer =>
    execFileSync(printer, args, { env: { TZ: 'UTC' }, maxBuffer: 16 * 1024 * 1024 });
  const read = (path: string): Buffer => readFileSync(join(TOP, path));
  mkdirSync(join(root, 'usr/bin'), { recursive: true });
  cpSync(executable, join(root, 'usr/bin/rowsync'));
  chmodSync(join(root, 'usr/bin/rowsync'), 0o755);
  put('usr/lib/rowsync/better_sqlite3.node', readFileSync(addonOf(platform)));
  runProgram(platform.strip, ['--strip-unneeded', join(root, 'usr/lib/rowsync/better_sqlite3.node')]);
  for (const file of UNIT_FILES) {
    const [, folder, name] = UNIT_FOLDERS.find(([of]) => of === file) ?? [file, 'lib/systemd/system', file];
    put(join(folder, name), read(`systemd/${file}`));
  }
  put('usr/share/man/man1/rowsync.1.gz', gzipSync(say('man'), { level: 9 }));
  put('usr/share/bash-completion/completions/rowsync', say('completion', 'bash'));
  put('usr/share/zsh/vendor-completions/_rowsync', say('completion', 'zsh'));
  put('usr/share/fish/vendor_completions.d/rowsync.fish', say('completion', 'fish'));
  const control = read('packaging/debian/control').toString();
  put('usr/share/doc/rowsync/changelog.gz', gzipSync(debianChangelog(control, version, builtAt), { level: 9 }));
  put('usr/share/doc/rowsync/CHANGELOG.md.gz', gzipSync(read('CHANGELOG.md'), { level: 9 }));
  put('usr/share/doc/rowsync/copyright', `${read('LICENSE').toString()}${COPYRIGHT}`);
  put('usr/share/doc/rowsync/licenses.txt.gz', gzipSync(licenses, { level: 9 }));
  for (const file of DOCUMENTS.flatMap(documentsIn)) put(`usr/share/doc/rowsync/${file}`, read(file));
  put('usr/share/lintian/overrides/rowsync', read('packaging/debian/lintian-overrides'));
  for (const name of ['postinst', 'prerm', 'postrm']) put(`DEBIAN/${name}`, read(`packaging/debian/${name}`), 0o755);
  const files = filesUnder(root).filter((path) => !path.startsWith('DEBIAN/'));
  const sums = files.map(
    (path) =>
      `${createHash('md5')
        .update(readFileSync(join(root, path)))
        .digest('hex')}  ${path}\n`,
  );
  put('DEBIAN/md5sums', sums.join(''));
  const kib = Math.ceil(files.reduce((sum, path) => sum + statSync(join(root, path)).size, 0) / 1024);
  put(
    'DEBIAN/control',
    control.replace('@VERSION@', version).replace('@ARCHITECTURE@', platform.debian).replace('@KIB@', String(kib)),
  );
  mkdirSync(join(root, 'etc/rowsync'), { recursive: true });
  for (const path of ['.', ...foldersAndFiles(root)]) {
    if (statSync(join(root, path)).isDirectory()) chmodSync(join(root, path), 0o755);
    utimesSync(join(root, path), builtAt, builtAt);
  }
  execFileSync('dpkg-deb', ['--root-owner-group', '-Zxz', '-z3', '--build', root, deb], {
    env: { ...process.env, SOURCE_DATE_EPOCH: String(builtAt) },
  });
}

function foldersAndFiles(root: string): readonly string[] {
  return readdirSync(root, { recursive: true, encoding: 'utf8' }).toSorted();
}

function filesUnder(root: string): readonly string[] {
  return foldersAndFiles(root).filter((path) => statSync(join(root, path)).isFile());
}
