// A denied call hides among two hundred allowed ones. Denied.
const ps = Array.from({ length: 200 }, (_, i) => i === 137 ? codemode.secret({ i }) : codemode.echo(i));
return await Promise.all(ps);
