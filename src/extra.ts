/**
 * What an extra can bring. The core calls these and knows no extra by name: `extras.ts` has the list, which
 * `cli/main.ts` hands on. Whatever is large is loaded by `import()` when it is needed. What extras ask of each other is
 * in extras/shared/linked-extra.ts.
 */
import type { Command } from 'commander';
import type { RowsyncError } from './base/errors.ts';
import type { DecisionOutcome, PersonDecision } from './capture/person-decision.ts';
import type { Session } from './cli/terminal/session.ts';
import type { Config } from './config/load.ts';
import type { OptionSection } from './config/options.ts';
import type { DaemonFacts } from './daemon/account-facts.ts';
import type { DaemonExtra } from './daemon/context.ts';
import type { Notifier } from './daemon/process-health.ts';
import type { Logger } from './base/log.ts';
import type { Environment } from './config/secrets.ts';
import type { WorkKind } from './daemon/jobs.ts';
import type { PullContext } from './pull/context.ts';
import type { PullReport } from './pull/report.ts';
import type { ProvenMoment } from './replica/bookkeeping/changed-rows.ts';
import type { GivenConfirmation } from './replica/confirmation.ts';
import type { Replica } from './replica/database.ts';
import type { QueryAnswer, ReplicaReader } from './replica/reader.ts';

/** One use of a command: what it works with. */
export interface Invocation {
  readonly session: Session;
  readonly extras: readonly Extra[];
  /** As given with --config. */
  readonly configPath: string | undefined;
  readonly isJson: boolean;
  readonly isVerbose: boolean;
}

/** Options of a command as Commander gives them, by name: those with a text, switches, and lists. */
export type Flags<Text extends string, Switch extends string = never, List extends string = never> = {
  readonly [Name in Text]?: string;
} & { readonly [Name in Switch]?: boolean } & { readonly [Name in List]?: readonly string[] };

/** Makes a command's work its action. The work gets what Commander gives, and returns the exit code. */
export type Runner = <Given extends unknown[]>(
  work: (invocation: Invocation, ...given: Given) => Promise<number>,
) => (this: Command, ...given: Given) => Promise<void>;

/** Headings of the list of commands, in its order. */
export const COMMAND_GROUPS = [
  'Begin',
  'Every day',
  'Edit',
  'Look',
  'Look back',
  'Operate',
  'Connect',
  'Develop',
] as const;

export type CommandGroup = (typeof COMMAND_GROUPS)[number];

/** One module of commands. */
export interface CommandModule {
  /** Left out where it only adds options to commands of another module. */
  readonly group?: CommandGroup;
  /** What it adds to the program, or the command that it adds options to. */
  readonly names: readonly string[];
  /** Loads the module; the returned function adds the commands. */
  readonly load: () => Promise<(program: Command, runner: Runner) => void>;
  /** True for commands that speak of all commands, which are then loaded with it. */
  readonly seesAll?: true;
}

/** A question to the replica that may be answered from young tables only, or only while it is of one moment. */
export interface HeldQuestion {
  readonly reader: ReplicaReader;
  /** The tables that it reads, by their names in the file. */
  readonly reads: () => readonly string[];
  readonly options: { readonly fresh?: string | undefined; readonly moment?: boolean | undefined };
}

/** What was asked for; a daemon can be asked for work on all tables only, and for no flag but --strict. */
export interface WorkRequest {
  readonly works: readonly WorkKind[];
  readonly tables: readonly string[];
  readonly flags: readonly string[];
  readonly confirm: boolean;
}

/** The result of a decision; nothing was changed if the daemon is busy, or has failed. */
export type DecisionAnswer =
  | DecisionOutcome
  | { readonly kind: 'busy'; readonly words: string }
  | { readonly kind: 'failed'; readonly words: string };

/** What a command asks of a running daemon. */
export interface DaemonClient {
  /** Who keeps the tables up to date, what a daemon says of itself in lines of a status, and both as JSON. */
  hear(config: Config, around: { readonly extras: readonly Extra[]; readonly nowMs: number }): Promise<HeardDaemon>;
  /** Has it carry out a decision; `cause` is why this process may not. @throws RowsyncError if it cannot be asked. */
  decide(config: Config, decision: PersonDecision, cause: RowsyncError): Promise<DecisionAnswer>;
  /** Has it do work, and prints the result. @returns the exit code. @throws RowsyncError `replica.inUse`. */
  handOver(
    invocation: Invocation,
    cause: RowsyncError,
    request: WorkRequest,
    confirmations: readonly GivenConfirmation[],
  ): Promise<number>;
}

export interface HeardDaemon extends DaemonFacts {
  readonly lines: readonly string[];
  readonly json: object;
}

/** One extra, named like its folder below extras/. What it brings to a running daemon is in daemon/context.ts. */
export interface Extra extends DaemonExtra {
  readonly name: string;
  readonly commands?: readonly CommandModule[];
  /** A section of the configuration, with the kinds of scheduled work that it adds. */
  readonly loadOptions?: () => Promise<OptionSection>;
  /** What the program runs instead of a command, by the first word of its command line. */
  readonly processes?: Readonly<Record<string, () => Promise<() => void>>>;
  /** Tells what manages the process of a daemon how it is; null where nothing does. */
  readonly openNotifier?: (environment: Environment, log: Logger) => Promise<Notifier | null>;
  /** Texts of the configuration that no log may show. */
  readonly secrets?: (config: Config) => readonly string[];
  /** Loads what is called with every replica that a command opens for writing. */
  readonly loadPrepare?: () => Promise<(replica: Replica, config: Config) => Promise<void>>;
  /** Loads how commands ask a running daemon. */
  readonly loadDaemonClient?: () => Promise<DaemonClient>;
  /** `rowsync status` where a folder has several configurations and none is named. Returns the exit code. */
  readonly showStatuses?: (invocation: Invocation, paths: readonly string[], wantsCode: boolean) => Promise<number>;
  /** What `rowsync status` shows of it. */
  readonly status?: (config: Config) => Promise<{ readonly lines: readonly string[]; readonly json: object }>;
  /** Answers a query as of a time that a person typed. */
  readonly queryAt?: (reader: ReplicaReader, text: string, at: string, nowMs: number) => Promise<QueryAnswer>;
  /**
   * Leaves a reader in a transaction in which a question may be answered as its options want it. Returns what the
   * answer says of that, null for no such option. @throws RowsyncError `fresh.stale`, `fresh.moved`, `usage.invalid`.
   */
  readonly hold?: (invocation: Invocation, config: Config, question: HeldQuestion) => Promise<object | null>;
  /** Proves right after a pull that all tables are as they were at one moment. @throws RowsyncError `fresh.moved`. */
  readonly proveMoment?: (context: PullContext, report: PullReport) => Promise<ProvenMoment>;
}
