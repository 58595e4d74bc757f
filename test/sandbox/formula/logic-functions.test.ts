import { describe, expect, test } from 'vitest';

import { matches } from '../../support/formula.ts';

/** Every line is true of the row in test/support/formula.ts. */
const TRUE_BY_GROUP: Readonly<Record<string, readonly string[]>> = {
  conditions: [
    'If(1 > 2, "a", 2 > 1, "b", "c") = "b" and If(1 > 2, "a", "c") = "c" and IsNull(If(1 > 2, "a"))',
    'If([No Checkbox], 1, 2) = 2 and If(null, 1, 2) = 2 and If(true, null, 1) + 1 = 1',
    'If(true, true) and not If(false, true)',
    'Case([Status], "new", 1, "ACTIVE", 2, 3) = 2 and Case([Status], "new", 1, 3) = 3 and IsNull(Case(1, 2, "a"))',
    'Case([No Text], null, 1, 2) = 2 and Case(1, 1, "one") = "one"',
    'In([Status], "x", "active") and not In([Price], 1, 2) and In([Record Owner], User())',
    'Between([Price], 12.5, 20) and Between([Price], 1, 12.5) and not Between([Price], 13, 20)',
    'Between([Start Date], #2026-01-01#, #2026-01-31#)',
    'Nz([No Number], null, 7) = 7 and Nz([No Text]) = "" and Nz("a") = "a" and IsNull(Nz([No Date], null))',
    'IsNull(NullIf(0, 0)) and NullIf(1, 0) = 1 and IsNull(NullIf("A", "a")) and NullIf(1, null) = 1',
    'not NullIf(true, true)',
  ],
  aggregates: [
    'Sum(20, 0, 30) = 50 and Sum(3d, 22h) = 94h and Sum(1, null, 2) = 3 and Sum(0.1, 0.2) = 0.3',
    'Sum([No Number]) = 0',
    'Min(50, 60, null) = 50 and Max(50, 60, [No Number]) = 60 and IsNull(Max([No Number], null))',
    'Max("Jane", "Rita", "Linda") = "Rita" and Min("b", "A") = "a" and Max(#2026-01-01#, [Start Date]) = [Start Date]',
    'Max(false, true) and not Min(false, true) and Max(1h, 2h) = 2h and Min(#10:00#, #09:00#) = #09:00#',
    'Count("", "xyz", "zzz") = 2 and Count(28, 50, 0) = 3 and Count(true, false) = 1 and Count(null, [No Date]) = 0',
  ],
};

describe.each(Object.entries(TRUE_BY_GROUP))('%s', (_group, lines) => {
  test.each(lines)('%s', (text) => expect(matches(text)).toBe(true));
});
