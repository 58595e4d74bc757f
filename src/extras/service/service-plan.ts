/**
 * Plans how the systemd service is installed and removed: files to write and programs to run, in order, which
 * extras/service/command.ts carries out or prints. Running them again changes nothing.
 */
import { basename } from 'node:path';

/** One step; paths are absolute on the machine that is set up. */
export type ServiceStep =
  | {
      readonly kind: 'write';
      readonly path: string;
      readonly text: string;
      readonly mode: number;
      readonly once: boolean;
    }
  | { readonly kind: 'remove'; readonly path: string }
  /** Gives a file that is there already its mode. */
  | { readonly kind: 'protect'; readonly path: string; readonly mode: number }
  | {
      readonly kind: 'run';
      readonly command: readonly [string, ...string[]];
      /** Whether it speaks to the running manager, which a machine that is only being built does not have. */
      readonly isLive: boolean;
      /** The file without which there is nothing to do; null where there always is. */
      readonly needs: string | null;
    };

export interface ServiceChoice {
  /** The instance: rowsync@NAME. */
  readonly name: string;
  /** What does the work: the daemon, or cycles on the schedule of systemd. */
  readonly by: 'daemon' | 'timer';
  readonly program: readonly string[];
  /** Texts of the files in systemd/, by file name; null where the package manager of the system looks after them. */
  readonly units: ReadonlyMap<string, string> | null;
  /** The configuration to write if there is none yet; null to require an existing one. */
  readonly config: string | null;
  /** The token to store; null to keep the one that is there. */
  readonly token: string | null;
  /** A key of masks for the configuration that is written. */
  readonly maskKey: string;
}

const UNIT_FOLDER = '/etc/systemd/system';
/** Where the Debian package has its units, and its program. */
export const PACKAGED = { units: '/lib/systemd/system', program: '/usr/bin/rowsync' } as const;
const SYSUSERS = '/etc/sysusers.d/rowsync.conf';
const TMPFILES = '/etc/tmpfiles.d/rowsync.conf';
/** The units that are installed, from systemd/. */
const SERVICE_UNITS = ['rowsync@.service', 'rowsync-sync@.service', 'rowsync-sync@.timer'] as const;

export const UNIT_FILES = [...SERVICE_UNITS, 'rowsync.sysusers.conf', 'rowsync.tmpfiles.conf'] as const;

/** The token and the key of masks are root's: systemd reads them, and hands copies to the service. */
const TOKEN_MODE = 0o600;

export function servicePaths(name: string) {
  return {
    config: `/etc/rowsync/${name}.yaml`,
    token: `/etc/rowsync/${name}.token`,
    maskKey: `/etc/rowsync/${name}.mask-key`,
    state: `/var/lib/rowsync/${name}`,
  };
}

export function unitOf(name: string, by: ServiceChoice['by']): string {
  return by === 'daemon' ? `rowsync@${name}.service` : `rowsync-sync@${name}.timer`;
}

export function planInstall(given: ServiceChoice): readonly ServiceStep[] {
  const { name, by, program, units, config, token, maskKey } = given;
  const paths = servicePaths(name);
  const [own, other] = [unitOf(name, by), unitOf(name, by === 'daemon' ? 'timer' : 'daemon')];
  const write = (path: string, text: string, mode = 0o644, once = false): ServiceStep => ({
    kind: 'write',
    path,
    text,
    mode,
    once,
  });
  const unit = (file: string): string => units?.get(file) ?? '';
  const isOurs = units !== null;
  return [
    ...(isOurs ? [write(SYSUSERS, unit('rowsync.sysusers.conf')), write(TMPFILES, unit('rowsync.tmpfiles.conf'))] : []),
    // By name, so that systemd looks for them in the folder that is set up.
    run(false, 'systemd-sysusers', basename(SYSUSERS)),
    run(false, 'systemd-tmpfiles', '--create', basename(TMPFILES)),
    // What an administrator wrote is never written over.
    ...(config === null
      ? []
      : [write(paths.config, config, 0o644, true), write(paths.maskKey, maskKey, TOKEN_MODE, true)]),
    token === null ? { kind: 'protect', path: paths.token, mode: TOKEN_MODE } : write(paths.token, token, TOKEN_MODE),
    ...(isOurs ? SERVICE_UNITS : []).map((file) => write(`${UNIT_FOLDER}/${file}`, withProgram(unit(file), program))),
    run(true, 'systemctl', 'daemon-reload'),
    // Never both: the second one to come would find the replica in use.
    run(false, 'systemctl', 'disable', other),
    run(true, 'systemctl', 'stop', other),
    run(false, 'systemctl', 'enable', own),
    // Not only a start: what runs may be an earlier version.
    run(true, 'systemctl', 'restart', own),
  ];
}

/** The steps that stop and remove the service; configuration, token and replica stay. */
export function planUninstall(name: string, isLast: boolean, unitFolder = UNIT_FOLDER): readonly ServiceStep[] {
  const files = [...SERVICE_UNITS.map((file) => `${UNIT_FOLDER}/${file}`), SYSUSERS, TMPFILES];
  const units = [unitOf(name, 'timer'), `rowsync-sync@${name}.service`, unitOf(name, 'daemon')];
  // systemctl refuses to stop what it has never heard of.
  const onUnits = (isLive: boolean, ...command: readonly [string, ...string[]]): ServiceStep => ({
    ...run(isLive, ...command),
    needs: `${unitFolder}/${SERVICE_UNITS[0]}`,
  });
  return [
    onUnits(true, 'systemctl', 'stop', ...units),
    onUnits(false, 'systemctl', 'disable', unitOf(name, 'timer'), unitOf(name, 'daemon')),
    // The units serve every instance.
    ...(isLast ? files.map((path): ServiceStep => ({ kind: 'remove', path })) : []),
    run(true, 'systemctl', 'daemon-reload'),
    // A pattern may match nothing; a failure of long ago must not stay listed.
    run(true, 'systemctl', 'reset-failed', `rowsync@${name}.*`, `rowsync-sync@${name}.*`),
  ];
}

function run(isLive: boolean, ...command: readonly [string, ...string[]]): ServiceStep & { readonly kind: 'run' } {
  return { kind: 'run', command, isLive, needs: null };
}

/** The unit with the real program in ExecStart, quoted as systemd reads it. */
function withProgram(text: string, program: readonly string[]): string {
  const quoted = program.map((word) =>
    /^[\w@/.=:,+-]+$/.test(word) ? word : `"${word.replaceAll('%', '%%').replaceAll(/["\\$]/g, String.raw`\$&`)}"`,
  );
  return text.replace(`ExecStart=${PACKAGED.program} `, () => `ExecStart=${quoted.join(' ')} `);
}

/** A configuration to begin with, for an instance. */
export function firstConfig(name: string, origin: { readonly url: string; readonly database: string }): string {
  return `# rowsync@${name}.service; every option is in rowsync.example.yaml. After a change: systemctl reload rowsync@${name}
origin:
  url: ${JSON.stringify(origin.url)}
  database: ${JSON.stringify(origin.database)}
  # systemd hands the service a copy of ${servicePaths(name).token}; root, outside of the service, reads that file itself.
  tokenFile: \${CREDENTIALS_DIRECTORY:-/etc/rowsync}/${name}.token
replica:
  path: /var/lib/rowsync/${name}/replica.db
  # The key of hashes (mask), where members of the group cannot exchange it; keep a copy.
  maskKeyFile: \${CREDENTIALS_DIRECTORY:-/etc/rowsync}/${name}.mask-key
  shared: true # members of the group rowsync may use it
schedule:
  sync: '*/5 * * * *'
http:
  listen: /run/rowsync/${name}/http.sock
`;
}

/** The instance that a configuration of `rowsync service install` belongs to; null for any other file. */
export function instanceOf(file: string): string | null {
  return /^\/etc\/rowsync\/([a-z0-9_-]+)\.yaml$/.exec(file)?.[1] ?? null;
}
