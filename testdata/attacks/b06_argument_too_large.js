// Forty megabytes of argument are refused, and the next call works. Value.
let refused = false;
try { await codemode.echo('x'.repeat(20e6)); } catch (e) { refused = true; }
return [refused, await codemode.echo('next')];
