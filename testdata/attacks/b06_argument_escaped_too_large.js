// Two million control characters are twelve megabytes as JSON: refused. Value.
let refused = false;
try { await codemode.echo('\u0001'.repeat(2e6)); } catch (e) { refused = true; }
return [refused, await codemode.echo('next')];
