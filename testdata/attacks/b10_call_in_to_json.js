// A tool is called from toJSON of an argument of another call: both answers come. Value.
let inner;
const outer = await codemode.echo({ toJSON() { inner = codemode.echo('inner'); return 'outer'; } });
return [outer, await inner];
