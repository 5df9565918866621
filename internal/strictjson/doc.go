// Package strictjson reads JSON the one way in which all readers agree, or not at all.
//
// Two JSON readers can take the same text for two different things: one keeps the first of two members with the same
// name, the other the last; one reads half a surrogate pair as U+FFFD, the other as it is written. A call must not be
// decided on as one thing and carried out as another, so [Parse] refuses every text on which readers differ:
//
//   - what RFC 8259 does not allow;
//   - bytes that are not UTF-8 (RFC 8259, section 8.1) and half a surrogate pair (section 8.2, RFC 7493, section 2.1);
//   - two members with the same name in one object (RFC 8259, section 4, RFC 7493, section 2.3), also if one of the
//     names is written with escapes;
//   - numbers that a double turns into infinity (RFC 8259, section 6), such as 1e400, and exponents of more than 15
//     digits;
//   - nesting deeper than 64 levels (RFC 8259, section 9), or than [Options] says.
//
// The result is a [Value], a handle to one place in the text. It keeps where everything stands, the order of members
// and every number as it is written:
//
//	v, err := strictjson.Parse(`{"path":"notes/today.md","limit":1e2}`, strictjson.Options{})
//	path, ok := v.Member("path") // path.Text() == "notes/today.md"
//	for name, value := range v.Members() { ... }
//
// A text that is refused gives a [*SyntaxError], which says where and what to write instead.
//
// [Canonical] brings a text into the one form that digests are made of; see [Value.AppendCanonical] for its rule.
// [AppendToken], [EscapeToken], [Tokens] and [Value.At] are JSON Pointers.
//
// [Marshal] and [Unmarshal] convert the Go values of an embedding program. They do so as encoding/json does, with tags
// and methods, and with these differences: an error has the JSON Pointer of its place, a nil slice is [] and a nil map
// is {}, and an integer is never rounded.
//
// The package is a leaf: it imports nothing of ours, and everything of ours may import it.
package strictjson
