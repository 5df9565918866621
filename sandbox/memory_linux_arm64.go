package sandbox

const sysMemfdCreate = 279
