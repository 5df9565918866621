// No environment, arguments, files or working directory from anywhere. Value.
const found = [];
const seek = (name, get) => { try { const v = get(); if (v !== undefined && v !== null && String(v) !== '' && String(v) !== '/') found.push(name); } catch (e) { } };
seek('process.env', () => Object.keys(process.env)[0]);
seek('process.argv', () => process.argv[1]);
seek('process.execPath', () => process.execPath);
seek('process.cwd', () => process.cwd());
seek('scriptArgs', () => scriptArgs[0]);
seek('std.getenv', () => std.getenv('PATH'));
seek('os.getcwd', () => os.getcwd()[0]);
seek('Deno.env', () => Deno.env.get('PATH'));
seek('Deno.args', () => Deno.args[0]);
seek('Deno.cwd', () => Deno.cwd());
seek('Deno.execPath', () => Deno.execPath());
seek('Bun.env', () => Object.keys(Bun.env)[0]);
seek('location', () => { const u = String(location.href); return u.startsWith('file:') ? u : ''; });
seek('import.meta', () => { const u = (0, eval)('import.meta.url'); return u.startsWith('file:') ? u : ''; });
return found;
