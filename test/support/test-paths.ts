/**
 * Which files of src have their tests under the same path: `src/push/send.ts` in `test/push/send.test.ts`, or in
 * several files of a folder `test/push/send/`.
 */
import { parseSync, Visitor } from 'oxc-parser';
import type { TidyFile } from './tidy.ts';

/** Branches from which on a file has logic of its own; with fewer it is a list, types, or the wiring of others. */
const BRANCHES_MIN = 3;

/** Files with branches that are tested as a part of what uses them, each with the reason. */
const TESTED_ELSEWHERE: Readonly<Record<string, string>> = {
  'src/extras/backup/extra.ts': 'it declares the extra, and what it declares is tested with each part',
  'src/extras/putback/extra.ts': 'it declares the extra, and what it declares is tested with each part',
};

/** Says which files have logic and no tests under their path, and which exceptions are none any more. */
export function untestedProblems(
  sources: readonly TidyFile[],
  paths: readonly string[],
  exceptions: Readonly<Record<string, string>> = TESTED_ELSEWHERE,
): readonly string[] {
  const lacking = sources.filter(({ path }) => !hasTests(path, paths)).filter(hasLogic);
  const names = new Set(lacking.map(({ path }) => path));
  return [
    ...[...names]
      .filter((path) => !Object.hasOwn(exceptions, path))
      .map((path) => `${path}: has logic, and no tests under its path`),
    ...Object.keys(exceptions)
      .filter((path) => !names.has(path))
      .map((path) => `${path}: needs no exception`),
  ];
}

function hasTests(path: string, paths: readonly string[]): boolean {
  const base = path.replace(/^src\//, 'test/').replace(/\.ts$/, '');
  return paths.some(
    (other) => other.endsWith('.test.ts') && (other.startsWith(`${base}/`) || other.startsWith(`${base}.`)),
  );
}

function hasLogic({ path, text }: TidyFile): boolean {
  let count = 0;
  const branch = (): void => {
    count += 1;
  };
  new Visitor({
    IfStatement: branch,
    ConditionalExpression: branch,
    LogicalExpression: branch,
    ForStatement: branch,
    ForOfStatement: branch,
    WhileStatement: branch,
    SwitchCase: branch,
    CatchClause: branch,
  }).visit(parseSync(path, text).program);
  return count >= BRANCHES_MIN;
}
