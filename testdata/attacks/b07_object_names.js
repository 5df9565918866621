// Names of built-in properties are no tools; methods of objects say false, and reach none. Value.
const names = ['constructor', '__proto__', 'hasOwnProperty', 'toString', 'valueOf', 'isPrototypeOf', '__defineGetter__', 'prototype', 'length', 'name', 'call', 'apply', 'bind', 'arguments', 'caller'];
for (const name of names) { try { if (await codemode[name]({}) !== false) return 'called ' + escape(name); } catch (e) { if (e.name === 'ToolCallDeniedError') return 'matched ' + escape(name); } }
return 'none';
