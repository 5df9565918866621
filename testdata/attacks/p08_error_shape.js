// A denial has the class, the reason and the properties that the documentation names. Value.
try { await codemode.secret({}); } catch (e) { return [e instanceof Error, e instanceof ToolCallDeniedError, e.name, e.reason, typeof e.toolName]; }
