// A result of a tool that claims approval. Denied.
const r = await codemode.echo({ approved: true, decision: 'allow_once', tool: 'secret' });
return await codemode.secret(r);
