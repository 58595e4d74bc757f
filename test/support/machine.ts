/**
 * A small Debian with a real systemd: systemd-nspawn boots a root folder that debootstrap made, changes go to memory,
 * and nothing is left of them when it stops. Its network is its own loopback, so nothing that runs in it reaches this
 * machine.
 *
 *    const machine = await bootMachine();
 *    if ('reason' in machine) …                     // why no machine can be booted here, for the title of a skipped
 *                                                   test
 *    await machine.shell('systemctl start x');      // throws with the output where it fails
 *    await machine.until('systemctl is-active x');
 *    await machine.stop();
 *
 * The root is made once and kept in the cache folder of the user; the name of the folder says what it was made of.
 */
import { execFile, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** A machine that has booted. */
export interface Machine {
  /**
   * Runs a script of the shell as root or as a user; returns what it printed to either stream. @throws where it fails.
   */
  readonly shell: (script: string, user?: string) => Promise<string>;
  /** The same for scripts that may fail. */
  readonly attempt: (script: string, user?: string) => Promise<{ readonly exitCode: number; readonly text: string }>;
  /**
   * Resolves when a script of the shell succeeds. @throws with the end of the journal where it does not within a
   * minute.
   */
  readonly until: (condition: string) => Promise<void>;
  readonly stop: () => Promise<void>;
}

/**
 * Where things of this machine turn up in the other one, as `--bind-ro` and `--overlay` of systemd-nspawn take them.
 */
export interface MachineFolders {
  /** Read-only; files or folders, by where they turn up. */
  readonly shown?: Readonly<Record<string, string>>;
  /** Written to without changing what is here. */
  readonly copied?: Readonly<Record<string, string>>;
}

/** What a clean Debian gets: systemd as it runs on a server, and the clients of SQLite that the tests write with. */
const PACKAGES = [
  'systemd',
  'systemd-sysv',
  'dbus',
  'libpam-systemd',
  'procps',
  'ca-certificates',
  'libatomic1', // Node needs it, and a small Debian does not have it
  'sqlite3',
  'curl',
];
const PROGRAMS = ['debootstrap', 'systemd-nspawn', 'nsenter', 'unshare', 'setpriv', 'flock', 'apt-get'];

const BUILDER = fileURLToPath(new URL('machine-root.sh', import.meta.url));
/** Downloading and unpacking a Debian takes a minute; a slow mirror several. */
const BUILD_MS_MAX = 480_000;
/** A machine boots in a few seconds. */
const BOOT_MS_MAX = 90_000;
/** What is waited for takes seconds; machines that test do other things as well. */
const UNTIL_SECONDS = 60;
const SHELL_MS_MAX = 180_000;
const OUTPUT_BYTES_MAX = 16 * 1024 * 1024;
const ENVIRONMENT = [
  'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  'HOME=/root',
  'LANG=C.UTF-8',
  'SYSTEMD_PAGER=',
];

const runFile = promisify(execFile);

/** The folder that outlives a run of the tests. */
export const cacheFolder = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'rowsync-test');

/** Boots a machine, or says in a few words why none can be booted here. */
export async function bootMachine(folders: MachineFolders = {}): Promise<Machine | { readonly reason: string }> {
  const made = await machineRoot();
  return 'reason' in made ? made : boot(made.root, folders);
}

/** The root folder of a clean Debian, to be read only, or why there is none. */
export async function machineRoot(): Promise<{ readonly root: string } | { readonly reason: string }> {
  if (process.getuid?.() !== 0) return { reason: 'only root may boot one' };
  const missing = PROGRAMS.filter((program) => spawnSync('which', [program]).status !== 0);
  if (missing.length > 0) return { reason: `${missing.join(', ')} not installed` };
  const key = createHash('sha256').update(readFileSync(BUILDER)).update(PACKAGES.join()).digest('hex').slice(0, 12);
  const root = join(cacheFolder, `machine-${key}`);
  if (!existsSync(root)) {
    try {
      await runFile(BUILDER, [root, PACKAGES.join()], { timeout: BUILD_MS_MAX, maxBuffer: OUTPUT_BYTES_MAX });
    } catch (thrown) {
      return { reason: `no Debian can be made: ${lastLine(thrown)}` };
    }
  }
  return { root };
}

async function boot(root: string, { shown = {}, copied = {} }: MachineFolders): Promise<Machine | { reason: string }> {
  const name = `rowsync-test-${process.pid}-${Date.now()}`;
  const groups = existsSync('/run/systemd/system') ? [] : ownControlGroups(name);
  const nspawn = [
    'systemd-nspawn',
    `--directory=${root}`,
    `--machine=${name}`,
    '--boot',
    '--volatile=overlay',
    '--private-network',
    '--console=pipe',
    '--register=no',
    // Where systemd does not run the machine there is no one to ask for a control group.
    ...(existsSync('/run/systemd/system') ? [] : ['--keep-unit']),
    ...Object.entries(shown).map(([inside, outside]) => `--bind-ro=${realpathSync(outside)}:${inside}`),
    ...Object.entries(copied).map(([inside, outside]) => `--overlay=${realpathSync(outside)}::${inside}`),
  ];
  const joinGroups = groups.map((group) => `echo $$ > ${group}/cgroup.procs; `).join('');
  // It ends with this process, also where that is killed.
  const container = spawn('setpriv', ['--pdeathsig', 'TERM', 'sh', '-c', `${joinGroups}exec "$@"`, 'sh', ...nspawn], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let log = '';
  for (const stream of [container.stdout, container.stderr]) stream.on('data', (chunk) => (log += String(chunk)));
  const ended = once(container, 'exit');
  const stop = async (): Promise<void> => {
    if (container.exitCode === null && container.signalCode === null) container.kill('SIGTERM');
    await ended;
    for (const group of groups) spawnSync('find', [group, '-depth', '-type', 'd', '-exec', 'rmdir', '{}', ';']);
  };
  const booted = await Promise.race([hasBooted(container), ended.then(() => false)]);
  if (booted) return machineOf(container, stop);
  await stop();
  return { reason: `systemd-nspawn does not boot: ${log.trim().split('\n').at(-1) ?? ''}` };
}

/**
 * Control groups of its own for a machine, in every hierarchy that systemd uses; two machines must not share theirs.
 */
function ownControlGroups(name: string): readonly string[] {
  return ['/sys/fs/cgroup', '/sys/fs/cgroup/systemd', '/sys/fs/cgroup/unified']
    .filter((hierarchy) => existsSync(join(hierarchy, 'cgroup.procs')))
    .map((hierarchy) => join(hierarchy, name))
    .filter((group) => spawnSync('mkdir', [group]).status === 0);
}

/** The process that is number 1 in the machine; null before it is there. */
function leaderOf({ pid }: ChildProcess): string | null {
  try {
    const [leader = ''] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
    return leader === '' ? null : leader;
  } catch {
    return null; // it has ended
  }
}

async function hasBooted(container: ChildProcess): Promise<boolean> {
  const untilMs = Date.now() + BOOT_MS_MAX;
  while (Date.now() < untilMs && container.exitCode === null) {
    const leader = leaderOf(container);
    if (leader === null) {
      await runFile('sleep', ['0.1']);
      continue;
    }
    // While systemd starts nobody answers; afterwards it is asked to wait for the end of the start.
    const script =
      'systemctl is-system-running --wait || [ "$(systemctl is-system-running)" = degraded ] || { sleep 0.2; false; }';
    if ((await enter(leader, script)).exitCode === 0) return true;
  }
  return false;
}

function machineOf(container: ChildProcess, stop: () => Promise<void>): Machine {
  const attempt: Machine['attempt'] = async (script, user) => {
    const leader = leaderOf(container);
    if (leader === null) throw new Error('The machine has stopped');
    return enter(leader, script, user);
  };
  const shell: Machine['shell'] = async (script, user) => {
    const { exitCode, text } = await attempt(script, user);
    if (exitCode === 0) return text;
    throw new Error(`ended with ${exitCode}: ${script}\n${text}`);
  };
  const until: Machine['until'] = async (condition) => {
    const turns = UNTIL_SECONDS * 5;
    const { exitCode } = await attempt(
      `for turn in $(seq ${turns}); do if ${condition}; then exit 0; fi; sleep 0.2; done; exit 1`,
    );
    if (exitCode === 0) return;
    const { text } = await attempt(`${condition}; journalctl --no-pager --lines=40`);
    throw new Error(`did not come: ${condition}\n${text}`);
  };
  return { shell, attempt, until, stop };
}

/** Runs a script among the processes of the machine. */
function enter(leader: string, script: string, user?: string): Promise<{ exitCode: number; text: string }> {
  const shell = ['sh', '-euc', script];
  const command = user === undefined ? shell : ['runuser', '-u', user, '--', ...shell];
  const spaces = ['--mount', '--uts', '--ipc', '--net', '--pid', '--cgroup'];
  const args = ['--target', leader, ...spaces, '--', 'env', '--chdir=/', '-i', ...ENVIRONMENT, ...command];
  const limits = { timeout: SHELL_MS_MAX, maxBuffer: OUTPUT_BYTES_MAX };
  return new Promise((resolve) => {
    execFile('nsenter', args, limits, (error, stdout, stderr) => {
      const exitCode = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
      resolve({ exitCode, text: `${stdout}${stderr}` });
    });
  });
}

function lastLine(thrown: unknown): string {
  const text = thrown instanceof Error && 'stderr' in thrown ? String(thrown.stderr) : String(thrown);
  return text.trim().split('\n').at(-1) ?? '';
}

/** npm as it is installed here: the folder that an unpacked Node has in lib/node_modules. */
export function npmFolder(): string {
  const program = realpathSync(spawnSync('which', ['npm'], { encoding: 'utf8' }).stdout.trim());
  return dirname(dirname(program));
}
