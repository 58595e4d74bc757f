import { describe, expect, test } from 'vitest';

import { matches } from '../../support/formula.ts';

/** Every line is true of the row in test/support/formula.ts. */
const TRUE_BY_GROUP: Readonly<Record<string, readonly string[]>> = {
  dates: [
    'Date(2012, 8, 20) = #2012-08-20# and IsNull(Date(2013, 2, 29)) and IsNull(Date(2013, 13, 1))',
    'IsNull(Date(0, 1, 1)) and IsNull(Date(10000, 1, 1)) and Date(99, 1, 1) = #0099-01-01#',
    'Day(#2013-03-20#) = 20 and Month(#2013-03-20#) = 3 and Year(#2013-03-22#) = 2013',
    'Quarter(#2013-03-31#) = 1 and Quarter(#2013-04-01#) = 2 and Quarter(#2013-12-31#) = 4',
    'Week(#2016-07-25#) = 31 and Week(#2016-07-25#, 3) = 30 and Week(#2016-01-01#) = 1',
    'ISOWeek(#2016-07-25#) = 30 and ISOWeek(#2016-01-01#) = 53 and ISOWeek(#2018-12-31#) = 1',
    'DayOfWeek(#2013-03-21#) = 4 and DayOfWeek(#2013-03-24#) = 0 and DayOfWeek(#0001-01-01#) = 1',
    'DayOfYear(#2013-01-01#) = 1 and DayOfYear(#2013-03-20#) = 79 and DayOfYear(#2012-12-31#) = 366',
    'IsLeapDay(#2012-02-29#) and not IsLeapDay(#2012-02-28#)',
    'IsLeapYear(2000) and not IsLeapYear(1900) and IsLeapYear(#2012-05-01#)',
    'AdjustMonth(#2013-03-20#, 5) = #2013-08-20# and AdjustMonth(#2013-03-20#, -2) = #2013-01-20#',
    'AdjustMonth(#2013-01-30#, 1) = #2013-02-28# and AdjustMonth(#2013-01-15#, -1) = #2012-12-15#',
    'AdjustYear(#2012-01-30#, 2) = #2014-01-30# and AdjustYear(#2012-02-29#, 2) = #2014-02-28#',
    'IsNull(AdjustYear(#2012-02-29#, 9999999999)) and IsNull(AdjustMonth(#0001-01-01#, -1))',
    'NextDayOfWeek(#2013-03-22#, 3) = #2013-03-27# and NextDayOfWeek(#2013-03-22#, 5) = #2013-03-22#',
    'PrevDayOfWeek(#2013-03-20#, 5) = #2013-03-15# and PrevDayOfWeek(#2013-03-20#, 3) = #2013-03-20#',
    'Workday(#2026-11-27#, 1) = #2026-11-30# and Workday(#2026-11-27#, 5) = #2026-12-04# and Workday(#2026-11-30#, -1) = #2026-11-27#',
    'Workday(#2026-11-28#, 5) = #2026-12-04# and Workday(#2026-11-29#, -6) = #2026-11-20# and Workday(#2026-11-29#, 0) = #2026-11-29#',
    'Workdays(#2026-11-23#, #2026-11-29#) = 5 and Workdays(#2026-11-28#, #2026-11-29#) = 0 and Workdays(#1969-12-31#, #1970-01-07#) = 6',
    'MonthsBetween(#2012-01-01#, #2011-12-31#) = 1 and MonthsBetween(#2013-08-10#, #2013-01-14#) = 7',
    'QuartersBetween(#2013-04-01#, #2013-03-31#) = 1 and YearsBetween(#2013-01-01#, #2012-12-31#) = 1',
    'MonthsBetween(#2013-01-14#, #2013-08-10#) = -7',
  ],
  'first and last days': [
    'FirstDayOfWeek(#2013-03-20#) = #2013-03-17# and LastDayOfWeek(#2013-03-20#) = #2013-03-23#',
    'FirstDayOfMonth(#2013-03-20#) = #2013-03-01# and LastDayOfMonth(#2012-02-20#) = #2012-02-29#',
    'FirstDayOfQuarter(#2013-06-30#) = #2013-04-01# and LastDayOfQuarter(#2013-01-20#) = #2013-03-31#',
    'FirstDayOfYear(#2013-06-30#) = #2013-01-01# and LastDayOfYear(#2013-01-01#) = #2013-12-31#',
    'FirstDayOfPeriod(#2026-01-31#, Days(7), #2007-01-01#) = #2026-01-26#',
    'LastDayOfPeriod(#2026-01-31#, 7d, #2007-01-01#) = #2026-02-01#',
    'FirstDayOfPeriod(#2006-12-31#, 7d, #2007-01-01#) = #2006-12-25#',
    'IsNull(FirstDayOfPeriod(#2026-01-31#, 1h, #2007-01-01#)) and IsNull(LastDayOfPeriod(#2026-01-31#, 0d, #2007-01-01#))',
    'IsNull(FirstDayOfWeek(#0001-01-03#)) and IsNull(LastDayOfWeek(#9999-12-31#))',
  ],
  times: [
    'Hour([Alarm]) = 7 and Minute([Alarm]) = 30 and Second(#14:03:29#) = 29',
    'Time(22, 15) = #22:15# and Time(22, 15, 5) = #22:15:05# and Time(246) = #00:04:06#',
    'IsNull(Time(24, 0)) and IsNull(Time(1, 60)) and IsNull(Time(-1)) and IsNull(Time(86400))',
    'Timestamp(2013, 3, 25, 16, 10, 11) = #2013-03-25 16:10:11# and IsNull(Timestamp(2013, 2, 30, 0, 0, 0))',
  ],
};

describe.each(Object.entries(TRUE_BY_GROUP))('%s', (_group, lines) => {
  test.each(lines)('%s', (text) => expect(matches(text)).toBe(true));
});
