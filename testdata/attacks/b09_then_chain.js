// In a chain of reactions. Denied.
return await codemode.echo('secret').then(n => codemode[n]({})).then(v => v);
