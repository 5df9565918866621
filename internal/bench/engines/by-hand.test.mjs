// Runs the programs of by-hand.md, each as a file of its own, and compares the first line that each prints.
//
//	node --test by-hand.test.mjs
//	ENGINES='^Deno' node --test by-hand.test.mjs
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';

const here = import.meta.dirname;
const require = createRequire(import.meta.url);
const page = readFileSync(join(here, 'by-hand.md'), 'utf8');

for (const section of page.split(/^## /m).slice(1)) {
  const engine = section.slice(0, section.indexOf('\n'));
  if (!engine.match(process.env.ENGINES ?? '')) continue;
  const blocks = [...section.matchAll(/^```(js|go)\n(.*?)^```\n\n```text\n(.*?)^```$/gms)];
  test(engine, { timeout: 120_000 }, () => {
    assert.ok(blocks.length > 0, 'it has no program');
    for (const [, language, program, printed] of blocks) assert.equal(run(language, program), printed.trim(), program);
  });
}

function run(language, program) {
  const folder = mkdtempSync(join(here, language === 'go' ? 'go/by-hand-' : 'by-hand-'));
  try {
    const file = join(folder, language === 'go' ? 'main.go' : 'main.mjs');
    writeFileSync(file, program);
    const [command, ...args] = commandOf(language, program);
    const { stdout, stderr, error } = spawnSync(command, [...args, file], { cwd: folder, encoding: 'utf8', timeout: 60_000 });
    if (error) throw error;
    return (stdout || stderr).trim().split('\n')[0];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function commandOf(language, program) {
  if (language === 'go') return ['go', 'run'];
  const [command, ...args] = program.match(/^\/\/ ((?:node|deno) .*)\n/)?.[1].split(' ') ?? ['node'];
  return command === 'deno' ? [require('deno/install_api.cjs').runInstall(), ...args] : [process.execPath, ...args];
}
