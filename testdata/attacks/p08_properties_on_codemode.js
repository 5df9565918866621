// Properties on codemode. Denied.
try { Object.assign(codemode, { profile: 'unrestricted', approved: ['secret'], _profile: 'x' }); } catch (e) { }
return await codemode.secret({});
