// JSON.rawJSON chooses its own escapes; what arrives is the plain text, or the object as it looks. Value.
if (!JSON.rawJSON) return true;
const { s } = await codemode.echo({ s: JSON.rawJSON('"\\u0061\\/\\u0062"') });
return s === 'a/b' || Object.keys(s).join() === 'rawJSON';
