/**
 * What a stranger needs to see to help, and nothing that is private: no value of a row, no secret, no path, no address.
 * It is one file of JSON, which its sender can read first. Texts are left out unless they come from a list of rowsync.
 */
import { readFileSync, statSync } from 'node:fs';
import { arch, platform, release, totalmem } from 'node:os';
import { RowsyncError } from '../../base/errors.ts';
import { answerAsJson } from '../../base/result-formats.ts';
import { versionOf } from '../../cli/runtime/installation.ts';
import { hearDaemon } from '../shared/daemon-client.ts';
import type { Config } from '../../config/load.ts';
import { optionsJsonSchema, type OptionSection } from '../../config/options.ts';
import { parseYaml } from '../../config/yaml.ts';
import { problemsAt } from '../../daemon/account-facts.ts';
import type { Extra } from '../../extra.ts';
import { openReader } from '../../replica/reader.ts';
import { writeNewFile } from '../shared/new-file.ts';

const RUNS_MAX = 100;

/** What each part of the bundle asks the replica; columns with texts of people or of the origin are not among them. */
const QUERIES = {
  tables: `SELECT "table", state, rows, pages, windows, one_window FROM sync_status`,
  columns: `SELECT "table", "column", type, stored_as, kind, writable, width, options, state, mask IS NOT NULL AS masked FROM sync_columns`,
  runs: `SELECT id, kind, started_at, finished_at, outcome, tables, requests, not_modified, received_bytes, inserted, updated, deleted, error_code
         FROM sync_runs ORDER BY id DESC LIMIT ${RUNS_MAX}`,
  edits: `SELECT "table", state, count(*) AS rows FROM sync_changes GROUP BY 1, 2`,
  failures: `SELECT "table", kind, status, count(*) AS count FROM sync_failures GROUP BY 1, 2, 3`,
  conflicts: `SELECT "table", kind, winner, state, count(*) AS count FROM sync_conflicts GROUP BY 1, 2, 3, 4`,
  sqlite: `SELECT sqlite_version() AS version`,
} as const;

/** Everything of the bundle, as JSON. A replica that cannot be read is missing from it; its problem is not. */
export async function supportBundle(
  config: Config,
  around: { readonly extras: readonly Extra[]; readonly sections: readonly OptionSection[]; readonly nowMs: number },
): Promise<object> {
  const { facts, answer } = await hearDaemon(config, around.extras);
  const problems = problemsAt(config, { ...facts, nowMs: around.nowMs });
  const words = wordsOf(optionsJsonSchema(around.sections));
  return {
    madeAt: new Date(around.nowMs).toISOString(),
    versions: { rowsync: versionOf(), node: process.version, system: `${platform()} ${release()} ${arch()}` },
    memoryBytes: totalmem(),
    daemonAnswers: answer !== null,
    configuration: withoutTexts(parseYaml(config.file, readFileSync(config.file, 'utf8')).values, words),
    problems: problems.map(({ code, severity, table, count, since }) => ({ code, severity, table, count, since })),
    sizes: { replica: sizeOf(config.replica.path), wal: sizeOf(`${config.replica.path}-wal`) },
    ...answersOf(config.replica.path),
  };
}

/** Writes the bundle and returns its size. @throws RowsyncError `usage.invalid` where the file is there already. */
export function writeBundle(path: string, bundle: object): number {
  const text = `${JSON.stringify(bundle, null, 2)}\n`;
  writeNewFile(path, text);
  return Buffer.byteLength(text);
}

function answersOf(path: string): Readonly<Record<string, unknown>> {
  try {
    using reader = openReader(path);
    const answerOf = (text: string): unknown => JSON.parse([...answerAsJson(reader.query(text))].join(''));
    return Object.fromEntries(Object.entries(QUERIES).map(([name, text]) => [name, answerOf(text)]));
  } catch (thrown) {
    if (thrown instanceof RowsyncError) return {};
    throw thrown;
  }
}

function sizeOf(path: string): number | null {
  return statSync(path, { throwIfNoEntry: false })?.size ?? null;
}

/** Every text that the configuration offers as a choice. */
function wordsOf(schema: unknown): ReadonlySet<string> {
  if (Array.isArray(schema)) return new Set(schema.flatMap((part) => [...wordsOf(part)]));
  if (typeof schema !== 'object' || schema === null) return new Set();
  return new Set(
    Object.entries(schema).flatMap(([key, part]: [string, unknown]) => {
      if (key !== 'const' && key !== 'enum') return [...wordsOf(part)];
      return [part].flat().filter((word) => typeof word === 'string');
    }),
  );
}

/** Spans of time and schedules, in which nothing private can be. */
const HARMLESS = /^(?:\d{1,6}(?:ms|[smhdw])|[\d*/,-]{1,9}(?: [\d*/,-]{1,9}){4,5})$/;

/** The configuration with each text replaced by its length, but for choices, spans of time, schedules and names. */
function withoutTexts(value: unknown, words: ReadonlySet<string>): unknown {
  if (typeof value === 'string')
    return words.has(value) || HARMLESS.test(value) ? value : `(${value.length} characters)`;
  if (Array.isArray(value)) return value.map((item) => withoutTexts(item, words));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    // Which database it is, is private, too.
    Object.entries(value).map(([key, item]) => [key, key === 'database' ? '(a number)' : withoutTexts(item, words)]),
  );
}
