// No environment, arguments, files or working directory from anywhere. Value.
const found = [];
for (const path of ['process.env', 'process.argv', 'scriptArgs', 'std.getenv', 'os.getcwd', 'Deno.env', 'Bun.env', 'import.meta', 'WScript', 'navigator', 'location', 'self', 'window', 'global', 'document', 'performance.memory']) {
  try { const v = (0, eval)(path); if (v !== undefined) found.push(path); } catch (e) { }
}
return found;
