// Two hundred and fifty thousand letters beyond the first plane, a megabyte of UTF-8, come back whole. Value.
const s = '\u{1f600}'.repeat(250000);
return await codemode.echo(s) === s;
