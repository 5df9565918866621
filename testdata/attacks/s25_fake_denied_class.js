// An own error of the class of denials. It is an error and nothing else.
throw typeof ToolCallDeniedError === 'function' ? new ToolCallDeniedError('denied') : new Error('denied');
