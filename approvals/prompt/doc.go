// Package prompt shows questions to a person, and reads the form that comes back.
//
// A [Request] is one call that needs a yes, or with an [Inquiry] a question of the program itself. [Render] makes its
// [View], which terminals, the page and forms render, and [Offers] are the ways of saying yes. [Form] makes an
// elicitation, and [ReadForm] reads what a client returns:
//
//	message, schema := prompt.Form([]*prompt.Request{r}, "2025-11-25")
//	answers := prompt.ReadForm([]*prompt.Request{r}, action, content)
//
// The text shown comes from the bytes that will be sent, escaped and never stripped, and says when it is incomplete.
// Only the exact value of an offered choice is a yes. A [Grant] is a remembered yes, within the [Terms] of the request;
// [Request.Bind] is the digest of everything that a yes covers.
//
// This package asks nobody and stores nothing: package approvals does.
package prompt
