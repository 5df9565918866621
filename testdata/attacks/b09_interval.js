// From an interval. Denied.
return await new Promise((resolve, reject) => { const id = setInterval(() => { clearInterval(id); codemode.secret({}).then(resolve, reject); }, 1); });
