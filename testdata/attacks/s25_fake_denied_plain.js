// A plain object that looks like a denial. It is an error and nothing else.
throw { name: 'ToolCallDeniedError', toolName: 'secret', reason: 'denied', outcome: 'denied', kind: 'denied' };
