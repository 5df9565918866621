// Through destructuring with another name. Denied.
const { secret: harmless } = codemode;
return await harmless({});
