// Two halves that the program joins are one letter, also across pieces of a rope. Value.
const s = 'x'.repeat(5000) + '\ud83d' + '\ude00' + 'y'.repeat(5000), r = await codemode.echo(s);
return [r === s, r.length, [...r].length];
