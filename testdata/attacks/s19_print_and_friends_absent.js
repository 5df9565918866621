// No shell functions of the engine. Value.
return ['print', 'gc', 'load', 'loadScript', 'evalScript', 'loadFile', 'writeFile', 'readFile', 'exit', 'getenv', 'exec', 'popen', 'open', 'tmpfile', 'urlGet', 'navigator'].filter(n => n in globalThis);
