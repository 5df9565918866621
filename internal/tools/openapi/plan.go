package openapi

// A Plan says how the arguments of an operation become a request. It does not change.
type Plan struct {
	Method string // upper case
	// Path is what follows the base address: literal text with {name} for each parameter in the path, as the description
	// writes it, without a fragment. A query that is a part of the template stands after "?".
	Path       string
	Parameters []Parameter // those that can be sent, in the order of the description
	Body       *Body       // nil: none
	Accept     []string    // the media types of successful answers, JSON first; empty is any
	// RepeatKey is the header of the description by which a server knows a repetition, Idempotency-Key; "" is none.
	RepeatKey string
}

// A Parameter is an argument in the path, the query or a header.
type Parameter struct {
	Argument, Name string // among the arguments, and in the request
	// In is InPath, InQuery or InHeader. Style is one of OpenAPI: simple, label, matrix, form, spaceDelimited,
	// pipeDelimited, deepObject. The collectionFormat of Swagger 2 is one of them; its tsv is tabDelimited.
	In, Style         string
	Explode, Required bool
}

// The places of parameters.
const InPath, InQuery, InHeader = "path", "query", "header"

// A Body is the body of a request.
type Body struct {
	Required bool
	Media    string // what is sent, such as application/json, application/x-www-form-urlencoded or multipart/form-data
	// Argument is the argument that is the whole body. "" says that each member of the body is an argument, and Members
	// names them.
	Argument string
	Members  []string
	// Parts says for members of a form or of a multipart body how each is sent, where the description says it.
	Parts map[string]Part
}

// A Part is a member of a form or of a multipart body.
type Part struct {
	Media, Style    string // "" is text/plain, and application/json for objects; and form
	Explode, Binary bool   // Binary is a file: text, or {"base64": "..."} for bytes that are no text
}
