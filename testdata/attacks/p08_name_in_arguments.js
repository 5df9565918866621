// Arguments that name another tool. Denied.
return await codemode.secret({ name: 'echo', tool: 'echo', toolName: 'echo', server: 'x', method: 'tools/call' });
