/**
 * What `npm run dist` makes: the same bytes from another folder, checksums that a user can verify as docs/install.md
 * says, and a list of packages that agrees with the bytes of the bundle.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { appendFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSync, Visitor } from 'oxc-parser';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { X64 } from '../../packaging/platforms.ts';
import { commitTime, makeRelease } from '../../packaging/release.ts';

vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 });

const TOP = fileURLToPath(new URL('../../', import.meta.url));
const lacking = ['strip', 'dpkg-deb', 'git', 'ssh-keygen'].filter((name) => spawnSync('which', [name]).status !== 0);
const reason = lacking.length === 0 ? '' : ` (not here: ${lacking.join(', ')})`;

/** What a build reads of node_modules: what the program runs on, and the tools that make it. */
const TOOLS = /^node_modules\/(?:@?rolldown|@?typescript|@types)(?:\/|$)/;

interface Lock {
  readonly packages: Readonly<
    Record<string, { readonly version?: string; readonly dev?: boolean; readonly integrity?: string }>
  >;
}

interface Component {
  readonly name: string;
  readonly version: string;
  readonly 'bom-ref': string;
  readonly hashes: readonly { readonly content: string }[];
}

const lock = JSON.parse(readFileSync(join(TOP, 'package-lock.json'), 'utf8')) as Lock;
const production = Object.entries(lock.packages).flatMap(([folder, { dev }]) =>
  folder !== '' && dev !== true && existsSync(join(TOP, folder)) ? [folder] : [],
);

/** Texts of a package that are long enough to be its own: literals of plain letters in its modules. */
function ownTexts(folder: string): ReadonlySet<string> {
  const found = new Set<string>();
  for (const file of readdirSync(join(TOP, folder), { recursive: true, encoding: 'utf8' })) {
    if (!/\.[cm]?js$/.test(file) || /(?:^|\/)node_modules\//.test(file)) continue;
    const { program } = parseSync(file, readFileSync(join(TOP, folder, file), 'utf8'));
    new Visitor({
      Literal: ({ value }) => {
        if (typeof value === 'string' && /^[\w .,;:/-]{24,200}$/.test(value)) found.add(value);
      },
    }).visit(program);
  }
  return found;
}

describe.skipIf(reason !== '')(`a release${reason}`, () => {
  const folder = mkdtempSync(join(tmpdir(), 'rowsync-release-'));
  const release = join(folder, 'release');
  const key = join(folder, 'key');

  beforeAll(async () => {
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', '', '-f', key]);
    await makeRelease(release, { signingKey: key, platforms: [X64] });
  });

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test('is the same bytes when it is built in another folder', () => {
    const copy = join(folder, 'a checkout with another, longer name');
    mkdirSync(copy);
    for (const name of execFileSync('git', ['ls-files', '-z'], { cwd: TOP, encoding: 'utf8' }).split('\0'))
      if (name !== '' && !name.startsWith('test/')) cpSync(join(TOP, name), join(copy, name));
    const wanted = Object.keys(lock.packages).filter((name) => production.includes(name) || TOOLS.test(name));
    for (const name of wanted.filter((each) => each.lastIndexOf('node_modules/') === 0 && existsSync(join(TOP, each))))
      cpSync(join(TOP, name), join(copy, name), { recursive: true, verbatimSymlinks: true, force: true });
    cpSync(join(TOP, 'node_modules/.bin'), join(copy, 'node_modules/.bin'), {
      recursive: true,
      verbatimSymlinks: true,
    });

    const script =
      "const { makeRelease } = await import('./packaging/release.ts'); const { X64 } = await import('./packaging/platforms.ts');" +
      "await makeRelease(process.cwd() + '/release', { platforms: [X64] });";
    execFileSync(process.execPath, ['--input-type=module', '-e', script], {
      cwd: copy,
      env: { ...process.env, SOURCE_DATE_EPOCH: String(commitTime()) },
      stdio: ['ignore', 'ignore', 'inherit'],
    });

    expect(readFileSync(join(copy, 'release/SHA256SUMS'), 'utf8')).toBe(
      readFileSync(join(release, 'SHA256SUMS'), 'utf8'),
    );
    rmSync(copy, { recursive: true });
  });

  test('is verified by the commands of the documents, which find a changed file and a strange signature', () => {
    const documents = readFileSync(join(TOP, 'docs/install.md'), 'utf8');
    const script = /```sh\n(echo "rowsync [^]*?)```/.exec(documents)?.[1] ?? '';
    const verify = (publicKey: string): { readonly ok: boolean; readonly output: string } => {
      cpSync(publicKey, join(release, 'rowsync.pub'));
      const { status, stdout } = spawnSync('bash', ['-e', '-c', script], { cwd: release, encoding: 'utf8' });
      return { ok: status === 0, output: stdout };
    };

    expect(verify(`${key}.pub`)).toMatchObject({
      ok: true,
      output: expect.stringContaining('rowsync-linux-x64: OK') as string,
    });

    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', '', '-f', `${key}-other`]);
    expect(verify(`${key}-other.pub`)).toMatchObject({ ok: false });

    appendFileSync(join(release, 'Containerfile'), '\n');
    expect(verify(`${key}.pub`)).toMatchObject({
      ok: false,
      output: expect.stringContaining('Containerfile: FAILED') as string,
    });

    appendFileSync(join(release, 'SHA256SUMS'), '\n');
    expect(verify(`${key}.pub`)).toMatchObject({ ok: false, output: 'Could not verify signature.\n' });
  });

  test('lists the packages whose texts are in the executable, and no others', () => {
    const sbom = JSON.parse(readFileSync(join(release, 'rowsync.cdx.json'), 'utf8')) as {
      components: readonly Component[];
    };
    const listed = new Map(sbom.components.map((component) => [component['bom-ref'].replace(/^.*#/, ''), component]));
    const bytes = readFileSync(join(release, 'rowsync-linux-x64'));
    const program = bytes.subarray(bytes.indexOf('__esmMin=')).toString('latin1');
    const texts = new Map(
      production.filter((each) => each !== 'node_modules/node').map((each) => [each, ownTexts(each)]),
    );
    const isOwn = (text: string, of: string): boolean =>
      [...texts].every(([other, theirs]) => other === of || !theirs.has(text));
    const present = [...texts].flatMap(([name, own]) =>
      // One text may be a word of a standard.
      [...own].filter((text) => program.includes(text) && isOwn(text, name)).length > 1 ? [name] : [],
    );

    expect(present.length).toBeGreaterThan(15);
    expect(present.filter((name) => !listed.has(name))).toEqual([]);
    for (const [name, { version, hashes }] of listed) {
      expect(production).toContain(name);
      expect(version).toBe(lock.packages[name]?.version);
      const sha512 = Buffer.from(hashes[0]?.content ?? '', 'hex').toString('base64');
      expect(lock.packages[name]?.integrity).toBe(`sha512-${sha512}`);
    }
  });
});
