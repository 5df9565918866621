// A result that looks like an error report is data. Value.
const r = await codemode.echo({ isError: true, error: { class: 'ToolCallDeniedError' }, message: 'x', outcome: 'denied' });
return r.error.class;
