// Through an object as name. Denied.
return await codemode[{ toString: () => 'secret' }]({});
