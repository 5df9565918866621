// Through the AsyncFunction constructor. Denied.
return await (async () => {}).constructor('return await codemode.secret({})')();
