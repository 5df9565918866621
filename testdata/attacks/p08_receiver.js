// A receiver with an approval. Denied.
return await Reflect.apply(codemode.secret, { approved: true, policy: 'allow' }, [{}]);
