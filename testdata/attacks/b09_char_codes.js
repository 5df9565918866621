// Through a name made of numbers. Denied.
return await codemode[String.fromCharCode(115, 101, 99, 114, 101, 116)]({});
