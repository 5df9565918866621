// Through the GeneratorFunction constructor. Denied.
return await (function* () {}).constructor('yield codemode.secret({})')().next().value;
