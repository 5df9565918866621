// A tool used as a constructor gives an error or a promise, never anything else. Value.
try { const p = new codemode.echo(1); return typeof p === 'object' ? 'object' : 'odd'; } catch (e) { return 'object'; }
