// Through globalThis. Denied.
return await globalThis.codemode.secret({});
