// Forwards what is urgent, and deletes the rest.
const { mails } = await codemode.mail.inbox({});
const urgent = mails.filter(m => m.text.includes("urgent"));
for (const m of urgent) {
	await codemode.mail.send({ to: "office@example.org", text: `${m.from} writes:\n${m.text}` });
}
await codemode.mail.delete({ ids: mails.filter(m => !urgent.includes(m)).map(m => m.id) });
return `${urgent.length} of ${mails.length} mails forwarded`;
