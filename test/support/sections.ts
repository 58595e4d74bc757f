/**
 * The sections that all extras add to the configuration.
 */
import { loadSections } from '../../src/cli/runtime/invocation.ts';
import { EXTRAS } from '../../src/extras.ts';

export const SECTIONS = await loadSections({ extras: EXTRAS });
