/**
 * The tag that makes HTML: what is put in is escaped wherever it may stand, and cannot be put anywhere else.
 */
import { describe, expect, test } from 'vitest';
import { Html, html, templateProblem } from '../../../src/extras/page/html.ts';

describe('a text that is put in', () => {
  test.each([
    ['a script', '<script>alert(1)</script>', '&lt;script&gt;alert(1)&lt;/script&gt;'],
    ['a handler', '<img src=x onerror=alert(1)>', '&lt;img src=x onerror=alert(1)&gt;'],
    ['the end of an attribute', '" onmouseover="alert(1)', '&quot; onmouseover=&quot;alert(1)'],
    ['the end of the other kind of attribute', "' x='", '&#39; x=&#39;'],
    ['the end of an old attribute', '` x=`', '&#96; x=&#96;'],
    ['the end of a field', '</textarea><b>', '&lt;/textarea&gt;&lt;b&gt;'],
    ['an entity', '&lt;b&gt; &#x3c;b', '&amp;lt;b&amp;gt; &amp;#x3c;b'],
    ['template syntax', '${1} {{1}} <%= 1 %>', '${1} {{1}} &lt;%= 1 %&gt;'],
    ['a NUL', 'a\0b', 'a\\u0000b'],
    ['a character that turns the line around', 'a\u202Eb\u2066c', 'a\\u202eb\\u2066c'],
    ['an escape sequence', '\u001B[31m', '\\u001b[31m'],
    ['a lone surrogate', 'a\uD800b', 'a\\ud800b'],
    ['a character that nobody sees', 'a\u200Bb\uFEFF', 'a\\u200bb\\ufeff'],
    ['a line break', 'a\n  b', 'a\n  b'],
    ['a number', 12, '12'],
    ['nothing', null, ''],
  ])('is shown as what it is: %s', (_what, given, shown) => {
    expect(html`<p title="${given}">${given}</p>`.toString()).toBe(`<p title="${shown}">${shown}</p>`);
  });

  test('stands as it is where it was made by the tag, alone or in a list', () => {
    const item = (text: string): Html => html`<li>${text}</li>`;

    expect(
      html`<ul>
        ${['<', 'b'].map(item)}
      </ul>`.toString(),
    ).toBe('<ul>\n<li>&lt;</li><li>b</li>\n</ul>');
  });

  test('cannot be passed off as HTML', () => {
    const forge = Html as unknown as new (key: symbol, text: string) => Html;

    expect(() => new forge(Symbol('html'), '<b>')).toThrow('only the tag html');
  });
});

describe('a template', () => {
  test.each([
    ['in a script', ['<script>x = "', '"</script>'], 'no entities'],
    ['in styles', ['<style>', '</style>'], 'no entities'],
    ['in a comment', ['<!-- ', ' -->'], 'comment'],
    ['as a tag', ['<', '>'], 'outside of double quotes'],
    ['as an attribute', ['<p ', '>'], 'outside of double quotes'],
    ['behind an attribute without quotes', ['<p title=', '>'], 'outside of double quotes'],
    ['in single quotes', ["<p title='", "'>"], 'outside of double quotes'],
    ['in a handler', ['<p onclick="', '">'], 'is in onclick'],
    ['in a style', ['<p style="color:', '">'], 'is in style'],
    ['in a document', ['<iframe srcdoc="', '">'], 'is in srcdoc'],
    ['at the start of an address', ['<a href="', '">'], 'begins href'],
    ['behind the start of an address', ['<a href="/', '">'], 'begins href'],
    ['behind a scheme', ['<a href="javascript:', '">'], 'begins href'],
    ['at the start of an action', ['<form action="', '">'], 'begins action'],
    ['in the second place', ['<p>', '</p><a href="', '">'], 'begins href'],
    ['in a script behind another', ['<script></script><script>', '</script>'], 'no entities'],
  ])('with a value %s is refused', (_where, strings, complaint) => {
    expect(templateProblem(strings)).toContain(complaint);
  });

  test.each([
    ['between tags', ['<p>', '</p>']],
    ['behind a script', ['<script src="/a.js"></script><p>', '</p>']],
    ['behind a comment', ['<!-- a --><p>', '</p>']],
    ['in an attribute', ['<p title="a ', '" class="', '">']],
    ['behind a quoted angle bracket', ['<p title="a > b" class="', '">']],
    ['behind an apostrophe', ["<p>it's <b>", '</b></p>']],
    ['in a part of the page', ['<a href="#', '">']],
    ['in an address of this server', ['<a href="/a/', '">']],
  ])('with a value %s is fine', (_where, strings) => {
    expect(templateProblem(strings)).toBe(null);
  });

  test('is refused when it is used', () => {
    expect(() => html`<a href="${'javascript:alert(1)'}">x</a>`).toThrow('begins href');
  });
});
