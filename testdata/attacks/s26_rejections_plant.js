// Rejections left unhandled: planted here. The next run must not see it.
Promise.reject(new Error('planted'));
new Promise((_, r) => setTimeout(() => r(new Error('planted')), 20)).then(() => {});
return 'left';
