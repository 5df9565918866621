// Through Symbol.toPrimitive as name. Denied.
return await codemode[{ [Symbol.toPrimitive]: () => 'secret' }]({});
