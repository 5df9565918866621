# Through a name put together at run time. Denied, or there is no getattr.
return await getattr(codemode, 'sec' + 'ret')({})
