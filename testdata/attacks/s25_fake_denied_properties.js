// An own error that looks like a denial in every property. It is an error and nothing else.
throw Object.assign(new Error('the call of secret was refused (denied)'), { name: 'ToolCallDeniedError', toolName: 'secret', reason: 'denied', detail: 'x', retryable: false });
