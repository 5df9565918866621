// A million three-byte letters are three megabytes as JSON. Value.
const s = '\u4e00'.repeat(1e6);
return await codemode.echo(s) === s;
