// Through a name put together at run time. Denied.
return await codemode['sec' + 'ret']({});
