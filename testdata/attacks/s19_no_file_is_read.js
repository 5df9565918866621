// Whatever globals an engine offers, none of them reads a file of the machine. Value.
const file = '/etc/passwd', found = [];
const ways = {
  require: () => require('fs').readFileSync(file, 'utf8'),
  builtin: () => process.getBuiltinModule('fs').readFileSync(file, 'utf8'),
  binding: () => process.binding('fs').readFileUtf8(file, 0),
  deno: () => Deno.readTextFileSync(file),
  bun: () => Bun.file(file).text(),
  fetch: () => fetch('file://' + file).then(r => r.text()),
  std: () => std.loadFile(file),
  os: () => os.open(file, 0) >= 0 ? 'opened' : '',
  read: () => read(file),
  scripts: () => importScripts('file://' + file) ?? 'loaded',
};
for (const name of Object.keys(ways)) {
  try { if (String(await ways[name]()).length > 0) found.push(name); } catch (e) { }
}
return found;
