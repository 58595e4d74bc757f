import { describe, expect, test } from 'vitest';

import { matches } from '../../support/formula.ts';

/** Every line is true of the row in test/support/formula.ts. */
const TRUE_BY_GROUP: Readonly<Record<string, readonly string[]>> = {
  'conversions to text': [
    'ToText(10) = "10.000000" and ToText(-0.0000005) = "-0.000001" and ToText(0.0000004) = "0.000000"',
    'ToText([Big]) = "9007199254740993.000000" and ToText(true) = "1" and ToText(false) = "0"',
    'ToText(#2013-03-25#) = "2013-03-25" and ToText(#10:15#) = "10:15:00" and ToText("a") = "a"',
    'ToText(30m) = "00:30:00" and ToText(100h) = "100:00:00" and ToText(-90s) = "-00:01:30"',
    'ToText([Date Modified]) = "2026-01-31 22:30:00" and IsNull(ToText([No Number]))',
    'ToText([Record Owner]) = "Ada L." and ToText([Reader]) = "bob@example.org"',
    'ToText(ToLocation(1.5, -2)) = "1.5,-2"',
  ],
  'conversions from text': [
    'ToNumber("123.56") = 123.56 and ToNumber(" -7 ") = -7 and ToNumber(true) = 1 and ToNumber(false) = 0',
    'IsNull(ToNumber("abc")) and IsNull(ToNumber("1e5")) and IsNull(ToNumber(""))',
    'ToBoolean(1) and ToBoolean(-0.1) and not ToBoolean(0) and ToBoolean("YES") and ToBoolean("1")',
    'ToBoolean("True") and not ToBoolean("text") and not ToBoolean([No Text])',
    'ToDate("2012-01-15") = #2012-01-15# and IsNull(ToDate("2012-02-30")) and IsNull(ToDate("15/01/2012"))',
    'ToTimeOfDay("22:00") = #22:00# and ToTimeOfDay("12:03:29") = #12:03:29# and IsNull(ToTimeOfDay("25:00"))',
    'ToTimeOfDay("2:03:29 pm") = #14:03:29# and ToTimeOfDay("12:05AM") = #00:05# and IsNull(ToTimeOfDay("13:00 pm"))',
    'Latitude(ToLocation("35.6, 139.75")) = 35.6 and Longitude(ToLocation(35.6, 139.75)) = 139.75',
    'IsNull(ToLocation("91,0")) and IsNull(ToLocation("1")) and IsNull(ToLocation("1,2,3")) and IsNull(ToLocation(0, 181))',
    'UserToEmail(ToUser("ADA@example.org")) = "ada@example.org" and IsNull(ToUser("nobody@example.org"))',
  ],
  zones: [
    'ToDate([Date Modified]) = #2026-01-31# and ToDate([Date Modified], "Europe/Paris") = #2026-02-01#',
    'ToTimeOfDay([Date Modified]) = #22:30:00# and ToTimeOfDay([Date Modified], "UTC") = #03:30#',
    'IsNull(ToDate([Date Modified], "Nowhere/City")) and IsNull(ToTimestamp(#2026-01-01#, #00:00#, "?"))',
    'ToTimestamp(#2026-01-31#) = #2026-01-31 05:00:00#',
    'ToTimestamp(#2026-01-31#, #09:00#) = #2026-01-31 14:00#',
    'ToTimestamp(#2026-07-31#, #09:00#, "Europe/Paris") = #2026-07-31 07:00#',
    'ToDate(#0001-01-01 12:00#, "UTC") = #0001-01-01# and IsNull(ToDate(#0001-01-01 00:00#))',
    'ToTimeOfDay(#1800-01-01 12:00#, "America/New_York") = #07:03:58#',
    'ToDate(#2026-07-01 22:00#, "Asia/Kolkata") = #2026-07-02# and IsNull(ToDate(#9999-12-31 22:00#, "Asia/Kolkata"))',
    'Today() = #2026-01-31# and Now() = #2026-02-01 03:30:15# + 0.25s',
  ],
  context: [
    'RecordId() = "815" and AppId() = "21995" and Role() = "administrator"',
    'UserToEmail(User()) = "ada@example.org" and UserToName(User()) = "Ada Lovelace"',
    'UserToName([Reader]) = "bob@example.org" and UserToEmail([Record Owner]) = "ada@example.org"',
    'UserToName(User(), "FF") = "Ada Lovelace" and UserToName(User(), "LF") = "Lovelace, Ada"',
    'UserToName([Reader], "LF") = "bob@example.org" and IsNull(UserToName(User(), "initials"))',
    'Role([Reader]) = "Reader" and IsNull(Role([No User]))',
    'IsUserEmail("BOB@example.org") and not IsUserEmail("x@example.org") and not IsUserEmail([No Text])',
  ],
  'numbers by a pattern': [
    'Format(1500.63, "$#") = "$1501" and Format(1500.63, "#,0") = "1,501" and Format(1500.63, "$#", "£") = "£1501"',
    'Format(1.63, "0%") = "163%" and Format(-5.204, "-$#,0.00") = "-$5.20" and Format(-5.2, "$#,0.00") = "$-5.20"',
    'Format(0, "#,#") = "" and Format(0, "#,0") = "0" and Format(1234567.5, "#,#.##") = "1,234,567.5"',
    'Format(-0.001, "0.00") = "0.00" and Format(5, "000") = "005" and Format(12.5) = "12.5"',
    'Format(7, "#,0.00$", " EUR") = "7.00 EUR" and IsNull(Format(7, "nonsense"))',
    'Format([Big], "0") = "9007199254740993"',
  ],
  'dates by a pattern': [
    'Format(#2012-02-14#, "MM/yy") = "02/12" and Format(#2009-06-15#, "D") = "Monday, June 15, 2009"',
    'Format(#2009-06-15#) = "6/15/2009" and Format(#2009-06-15#, "d") = "6/15/2009" and Format(#2009-06-05#, "dd ddd") = "05 Fri"',
    'Format(#2009-06-15#, "M") = "June 15" and Format(#2009-06-15#, "Y") = "June 2009"',
    'Format(#2009-06-15#, "MMM d, yyyy") = "Jun 15, 2009" and Format(#2009-06-15#, "\'day\' d \\\\d") = "day 15 d"',
    'Format(#14:03:09#, "t") = "2:03 PM" and Format(#00:03:09#, "T") = "12:03:09 AM" and Format(#14:03:09#, "HH:mm:ss") = "14:03:09"',
    'Format(#14:03:09#) = "2:03 PM" and Format(#04:03:09#, "h:m:s t") = "4:3:9 A"',
    'Format([Date Modified]) = "1/31/2026 10:30 PM" and Format([Date Modified], "G") = "1/31/2026 10:30:00 PM"',
    'Format([Date Modified], "f") = "Saturday, January 31, 2026 10:30 PM"',
    'Format([Date Modified], "F") = "Saturday, January 31, 2026 10:30:00 PM" and Format("text") = "text"',
  ],
};

describe.each(Object.entries(TRUE_BY_GROUP))('%s', (_group, lines) => {
  test.each(lines)('%s', (text) => expect(matches(text)).toBe(true));
});
