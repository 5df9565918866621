// Backslashes, quotes and things that look like escapes come back the same. Value.
const s = '\\u0041 \\\\ " \\" \\n </script> ${x} %00 &amp; \u001b[31m';
return await codemode.echo(s) === s;
