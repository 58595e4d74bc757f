import { describe, expect, test } from 'vitest';

import { matches } from '../../support/formula.ts';

/** Every line is true of the row in test/support/formula.ts. */
const TRUE_BY_GROUP: Readonly<Record<string, readonly string[]>> = {
  'text tests': [
    'Contains("test", "ES") and not Contains("test", "et")',
    'Contains("test", "")',
    'Begins("Test", "tES") and not Begins("test", "st")',
    'Ends("tesT", "St") and not Ends("test", "te")',
    'Any("A,B,C,D", "d,a") and Any("A,B", "D, b") and not Any("A,B", "D,E") and not Any("A,B", "")',
    'All("A,B,C,D", "D,a") and not All("A,B,C,D", "D,E") and All("A,B", "")',
    'not Any("example.com", ".com")',
  ],
  'text parts': [
    'Left("invoice", 3) = "inv" and Left("ab", 9) = "ab" and Left("ab", -1) = "" and Left("abc", 1.9) = "a"',
    'Left("John Smith", " ") = "John" and Left("test", "/") = "test"',
    'Right("typeAA1", 3) = "AA1" and Right("ab", 9) = "ab" and Right("ab", 0) = ""',
    'Right("a/b/c", "/") = "c" and Right("abc", "/") = "abc"',
    'NotLeft("typeABC", 4) = "ABC" and NotLeft("type-20-A", "-") = "20-A" and NotLeft("type", "/") = ""',
    'NotRight("typeABC", 3) = "type" and NotRight("a-b-c", "-") = "a-b" and NotRight("type", "/") = ""',
    'NotRight("ab", 5) = ""',
    'Mid("type20A", 5, 2) = "20" and Mid("type20A", 7, 3) = "A" and Mid("abc", 9, 1) = ""',
    'Mid("abc", 0, 2) = "a" and Mid("abc", -5, 2) = "" and Mid("abc", 2, -1) = ""',
    'Part("model/year/car", 1, "/") = "model" and Part("model/year/car", -1, "/") = "car"',
    'Part("David Neil Evans", 2, " ") = "Neil" and IsNull(Part("a b", 3, " ")) and IsNull(Part("a b", 0, " "))',
    'IsNull(Part("a b", -3, " ")) and IsNull(Part("ab", 1, ""))',
  ],
  'text making': [
    'Len("xxx") = 3 and Len("") = 0 and IsNull(Len([No Text]))',
    'Len(Replace(Lower("XÉ"), "xé", "")) = 0 and Len(Replace(Upper("xé"), "XÉ", "")) = 0',
    'Len(Replace(Proper("Quick bROWn FOX o\'neil"), "Quick Brown FOX O\'Neil", "")) = 0',
    'Trim(" \\t\\r\\n NY City \\n") = "NY City" and Trim("   ") = ""',
    'Replace("TypeAA28AA", "AA", "B") = "TypeB28B" and Replace("abc", "", "x") = "abc"',
    'Replace("abc", "B", "x") = "abc" and Replace("a.c", ".", "$&") = "a$&c"',
    'List("-", "model", "a", "2012") = "model-a-2012" and List(" ", "a", null, "", "b") = "a b"',
    'Concat("Happy ", "Birthday") = "Happy Birthday" and Concat("John", null, "Doe") = "JohnDoe"',
    'PadLeft("ABC", 5) = "  ABC" and PadLeft("ABC", 8, "-+") = "-+-+-ABC" and PadLeft("ABC", 2) = "ABC"',
    'PadRight("ABC", 5, "-") = "ABC--" and PadRight("ABC", 4) = "ABC " and PadRight("ABC", 9, "") = "ABC"',
    'Len(PadRight("", 99999999999)) = 1000000',
    'URLEncode("a b&é/") = "a%20b%26%C3%A9%2F" and URLDecode("a+b%26%C3%A9") = "a b&é" and IsNull(URLDecode("%E9"))',
    'URLParam("x.example?q=a%20b&r=1&q=c#q=d", "q") = "a b,c" and IsNull(URLParam("x.example", "q"))',
  ],
  numbers: [
    'Abs(-2.5) = 2.5 and Abs(-[Big]) = [Big] and Int(-2.148) = -2 and Frac(-2.148) = -0.148',
    'Round(4.9) = 5 and Round(5.5) = 6 and Round(-5.5) = -6 and Round(7.63456, 0.01) = 7.63 and Round(7.63, 5) = 10',
    'Round(1.005, 0.01) = 1.01 and IsNull(Round(1, 0))',
    'Ceil(4.9) = 5 and Ceil(-4.9) = -4 and Ceil(7, 5) = 10 and Ceil(-7, 5) = -5',
    'Floor(4.9) = 4 and Floor(-4.9) = -5 and Floor(7, 5) = 5 and Floor(-7, 5) = -10 and Floor(7, -5) = 5',
    'Ceil(Hours(7), Hours(5)) = 10h and Floor(7h, 5h) = 5h and Round(7h, 5h) = 5h',
    'Round(#07:44#, 30m) = #07:30# and Ceil(#23:50#, 1h) = #00:00# and Floor(#07:44#, 15m) = #07:30#',
    'Mod(7, 3) = 1 and Mod(-7, 3) = 2 and Mod(7, -3) = -2 and Mod(5.5, 2) = 1.5 and Mod(25h, 1d) = 1h',
    'Rem(7, 3) = 1 and Rem(-7, 3) = -1 and Rem(7, -3) = 1 and Rem(-25h, 1d) = -1h',
    'Round(Sin(Pi() / 6), 0.0001) = 0.5 and Cos(0) = 1 and Round(Degrees(Atan(Tan(Radians(45)))), 0.0001) = 45',
    'Round(Cot(Radians(45)), 0.0001) = 1 and Round(Asin(1) + Acos(1), 0.0001) = 1.5708 and IsNull(Asin(2))',
    'Sqrt(4) = 2 and Log(100) = 2 and Ln(1) = 0 and Exp(0) = 1 and IsNull(Ln(0)) and IsNull(Exp(9999))',
    'Between(Sqrt(2), 1.414213, 1.414214) and Between(Ln(10), 2.302585, 2.302586)',
  ],
  durations: [
    'Weeks(1) = 7d and Days(1) = 24h and Hours(0.5) = 30m and Minutes(25) = 1500s and Seconds(60) = 1m',
    'ToWeeks(14d) = 2 and ToDays(36h) = 1.5 and ToHours(90m) = 1.5 and ToMinutes(90s) = 1.5',
    'ToSeconds(Minutes(25)) = 1500 and Abs(-1h) = 1h',
  ],
};

describe.each(Object.entries(TRUE_BY_GROUP))('%s', (_group, lines) => {
  test.each(lines)('%s', (text) => expect(matches(text)).toBe(true));
});

describe('text functions keep the case that they return', () => {
  // `=` does not see case, so these compare lengths of what an exact replacement leaves.
  test.each([
    ['Len(Replace(Left("Abc", 1), "A", "")) = 0', true],
    ['Len(Replace(Lower("ABC"), "ABC", "")) = 0', false],
    ['Len(Replace(Trim(" Ab "), "Ab", "")) = 0', true],
    ['Len(Replace("xX", "x", "")) = 1', true],
  ])('%s is %s', (text, expected) => expect(matches(text)).toBe(expected));
});
