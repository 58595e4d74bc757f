/**
 * Statements of the specification that the client or the sandbox breaks. Each is found by a test whose bytes were
 * written by hand: most of them go unnoticed where both sides share the code that is wrong.
 */
import type { Mutant } from './mutant.ts';

/** Planted bugs in what is read and written over the wire. */
export const STATEMENT_MUTANTS: readonly Mutant[] = [
  {
    name: 'colored-rows-are-totals',
    without: 'A row with a field @row.* that no specification names is left out, in JSON.',
    edits: [
      {
        file: 'wire/json.ts',
        find: "if (object['@row.type'] !== undefined) continue;\n    const id",
        replace: 'if (Object.keys(object).some((name) => /^@row[.](?!id$|allow$)/.test(name))) continue;\n    const id',
      },
    ],
  },
  {
    name: 'rows-with-attributes-are-totals',
    without: 'A row with an attribute that no specification names is left out, in XML.',
    edits: [
      {
        file: 'wire/xml.ts',
        find: "if (attributeOf(element, 'type') !== undefined) return;",
        replace: "if (element.attributes.some(({ name }) => name !== 'id' && name !== 'allow')) return;",
      },
    ],
  },
  ...(['create', 'upsert'] as const).map((method) => ({
    name: `anyone-suppresses-rules-in-${method}`,
    without: `The sandbox takes workflow=0 from users without ManageData, in ${method}.`,
    edits: [
      {
        file: 'sandbox/methods/write.ts',
        find: 'const runsRules = readWorkflow(call);',
        replace:
          `const asked = call.route.method === '${method}' ? { ...call.user, admin: ['ManageData'] } : call.user;\n` +
          '  const runsRules = readWorkflow({ ...call, user: asked });',
      },
    ],
  })),
  {
    name: 'file-by-key-without-etag',
    without: 'The sandbox sends no ETag with a file that is asked for by key.',
    edits: [
      {
        file: 'sandbox/server/respond.ts',
        find: '...(isGet ? { ETag: etag } : {}),',
        replace: "...(isGet && request.url?.includes('key=') !== true ? { ETag: etag } : {}),",
      },
    ],
  },
  {
    name: 'headers-of-a-file-by-id-have-an-etag',
    without: 'The sandbox sends an ETag with a HEAD by id.',
    edits: [
      {
        file: 'sandbox/server/respond.ts',
        find: '...(isGet ? { ETag: etag } : {}),',
        replace: "...(isGet || /attachment[?]id=/.test(request.url ?? '') ? { ETag: etag } : {}),",
      },
    ],
  },
  {
    name: 'xml-is-always-sent',
    without: 'The sandbox answers XML in full to a client that has it.',
    edits: [
      {
        file: 'sandbox/server/respond.ts',
        find: 'return ifNoneMatch !== undefined && matchesEtag(ifNoneMatch, etag);',
        replace:
          "return ifNoneMatch !== undefined && !/[.]xml/.test(request.url ?? '') && matchesEtag(ifNoneMatch, etag);",
      },
    ],
  },
  {
    name: 'xml-is-asked-for-in-full',
    without: 'The client sends no ETag where it asks for XML.',
    edits: [
      {
        file: 'origin/requests.ts',
        find: "const headers = [...this.#parts.documentHeaders, ...(etag === null ? [] : ['if-none-match', etag])];",
        replace:
          "const isXml = this.#parts.format.extension === 'xml';\n" +
          "    const headers = [...this.#parts.documentHeaders, ...(etag === null || isXml ? [] : ['if-none-match', etag])];",
      },
    ],
  },
  {
    name: 'password-read-to-its-last-colon',
    without: 'The sandbox takes what stands before the last colon of the credentials for the user name.',
    edits: [
      {
        file: 'sandbox/server/authorize.ts',
        find: "const at = text.indexOf(':');",
        replace: "const at = text.lastIndexOf(':');",
      },
    ],
  },
  {
    name: 'password-sent-to-its-first-colon',
    without: 'The client sends a password up to its first colon.',
    edits: [
      {
        file: 'wire/headers.ts',
        find: 'Buffer.from(`${user}:${password}`',
        replace: "Buffer.from(`${user}:${password.split(':')[0]}`",
      },
    ],
  },
  {
    name: 'aliases-sort-nothing',
    without: 'The sandbox ignores a sort by the alias of a column.',
    edits: [
      {
        file: 'sandbox/methods/parameters.ts',
        find: 'sort.push({ column, descending: descending === true });',
        replace: 'if (column.alias !== name) sort.push({ column, descending: descending === true });',
      },
    ],
  },
  {
    name: 'star-is-all-that-retrieve-takes',
    without: 'The sandbox returns no further columns beside `*` in Retrieve.',
    edits: [
      {
        file: 'sandbox/methods/methods.ts',
        find: 'const { role, pairs, store } = call;\n  const columns = readColumns(table, role, pairs);',
        replace:
          'const { role, pairs, store } = call;\n' +
          "  const star = pairs.filter(([name, value]) => name === 'column' && value === '*');\n" +
          '  const columns = readColumns(table, role, star.length > 0 ? star : pairs);',
      },
    ],
  },
  {
    name: 'files-by-the-name-of-their-column-alone',
    without: 'The sandbox finds no attachment column under its alias.',
    edits: [
      {
        file: 'sandbox/methods/attachments.ts',
        find: 'if (!(column instanceof MethodRefusal)) return',
        replace:
          'if (!(column instanceof MethodRefusal) && column.alias === name) return noColumn(name);\n' +
          '    if (!(column instanceof MethodRefusal)) return',
      },
    ],
  },
  {
    name: 'files-asked-for-by-name',
    without: 'The client asks for files by the name of their column, which an administrator may change meanwhile.',
    edits: [
      {
        file: 'origin/files.ts',
        find: 'return withQuery(`/${segment(table)}/${segment(column)}/attachment${place}`, query);',
        replace: 'return withQuery(`/${segment(table)}/${pathSegment(column.name)}/attachment${place}`, query);',
      },
    ],
  },
  {
    name: 'edits-sent-by-names',
    without: 'A push calls columns by their names, which an administrator may give to others meanwhile.',
    edits: [{ file: 'push/send.ts', find: "return alias === '' ? name : alias;", replace: 'return name ?? alias;' }],
  },
  {
    name: 'elements-by-name-alone',
    without: 'The sandbox knows no column by its alias in an XML body.',
    edits: [
      {
        file: 'sandbox/methods/row-input.ts',
        find: 'const column = findColumn(this.#table, this.#call.role, name);',
        replace:
          "const isElement = this.#body.format.extension === 'xml' && /^f_[0-9]+$/.test(name);\n" +
          "    const column = findColumn(this.#table, this.#call.role, isElement ? '' : name);",
      },
    ],
  },
  ...(['user', 'describe'] as const).map((method) => ({
    name: `${method}-in-json-alone`,
    without: `The sandbox answers ${method}.xml of the database in JSON.`,
    edits: [
      {
        file: 'sandbox/methods/route.ts',
        find: 'if (depth === 0) return { method, format, tableNames',
        replace:
          `if (depth === 0 && method === '${method}') ` +
          'return { method, format: SERVER_FORMATS.json, tableNames: null, innerNames: null, guid: null };\n' +
          '  if (depth === 0) return { method, format, tableNames',
      },
    ],
  })),
  {
    name: 'retrieve-in-json-alone',
    without: 'The sandbox answers retrieve.xml in JSON.',
    edits: [
      {
        file: 'sandbox/methods/route.ts',
        find: 'return { method, format, tableNames, innerNames,',
        replace:
          "return { method, format: method === 'retrieve' ? SERVER_FORMATS.json : format, tableNames, innerNames,",
      },
    ],
  },
  {
    name: 'key-before-id',
    without: 'The sandbox finds the row of a write by its key where the row has an id as well.',
    edits: [
      {
        file: 'sandbox/methods/write.ts',
        find: 'if (row.id !== null) return writer.read',
        replace: 'if (row.id !== null && !cells.has(match)) return writer.read',
      },
    ],
  },
  {
    name: 'boundaries-behind-lf-are-content',
    without: 'A file of a multipart body swallows the next part, whose boundary is behind LF alone.',
    edits: [
      {
        file: 'sandbox/wire/multipart.ts',
        find: 'const lineFeedAt = this.#pending.indexOf(this.#delimiter);',
        replace:
          'const strictAt = this.#pending.indexOf(Buffer.concat([Buffer.of(CR), this.#delimiter]));\n' +
          '    const lineFeedAt = strictAt === -1 ? -1 : strictAt + 1;',
      },
    ],
  },
  {
    name: 'seconds-have-fractions',
    without: 'Select shows a Timestamp with the fraction of a second that was sent.',
    edits: [
      {
        file: 'wire/column-types.ts',
        find: "utc.replace(/\\.\\d+/, '')",
        replace: 'utc',
      },
    ],
  },
  {
    name: 'colons-are-escaped',
    without: 'The sandbox escapes a colon in the name of a column, which XML allows.',
    edits: [
      {
        file: 'sandbox/methods/route.ts',
        find: 'escapesColons && named === SERVER_FORMATS.xml',
        replace: 'named === SERVER_FORMATS.xml',
      },
    ],
  },
];
