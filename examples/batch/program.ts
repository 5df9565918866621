// One reading of a meter.
const { customer, used } = input as { customer: string; used: number };
const { cents: each } = await codemode.meter.tariff({ customer });
const cents = used * each;
await codemode.meter.bill({ customer, cents });
return { customer, cents };
