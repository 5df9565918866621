// Through a with scope. Denied.
return await Function('c', 'with (c) { return secret({}); }')(codemode);
