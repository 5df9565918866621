// Through the Function constructor. Denied.
return await Function('return codemode.secret({})')();
