// Package prompt shows one question to a person, as text or as a form, and reads the form that comes back.
//
// A [Request] is one call that needs a yes, or with an [Inquiry] a question of the program itself. [Render] shows it as
// text, [FormAll] as an elicitation, and [ReadFormAll] reads the form that a client returns:
//
//	message, schema := prompt.Form([]*prompt.Request{r}, "2025-11-25")
//	reply, err := prompt.ReadForm(r, action, content)
//
// The text shown comes from the bytes that will be sent, escaped and never stripped, and says when it is incomplete.
// Only the exact value of an offered choice is a yes. A [Grant] is a remembered yes, within the [Terms] of the request;
// a [Binding] is everything that a yes covers.
//
// This package asks nobody and stores nothing: package approvals does.
package prompt
