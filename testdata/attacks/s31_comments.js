// Four megabytes of comments and white space.
// Refused or done within the limits.
return eval('/*'.concat('*'.repeat(2e6), '*/', ' \n\t\u00a0\ufeff'.repeat(4e5), '12'));
