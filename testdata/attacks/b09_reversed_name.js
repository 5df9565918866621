// Through a name that is computed backwards. Denied.
return await codemode[[...'terces'].reverse().join('')]({});
