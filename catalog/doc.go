// Package catalog holds the tools that programs can call right now.
//
// A [Catalog] is filled one upstream at a time with [Catalog.Replace] and read
// without locks: a reader sees either the old or the new list of an upstream,
// never a mixture. Ask it with [Catalog.Find] for one tool by its canonical
// name, with [Catalog.Search] for the tools that fit a few words, and with
// [Declarations] for the TypeScript that says how to call them:
//
//	c := catalog.New()
//	c.Replace("files", []catalog.Tool{{Raw: "read_text_file", Input: schema}})
//	t, err := c.Find("files__read_text_file")
//	err = t.Validate(ctx, call.Unread([]byte(`{"path": 1}`))) // names /path, what was expected and what came
//
// Results are held against the output schema with [Tool.ValidateResult]. Of a
// tool without one [Catalog.Learn] takes the shape of its first result, names and
// types and no values, so that the next program knows what to expect.
//
// Names are canonical: <server>__<tool>, see [Canonical]. Two tools that would
// get the same name are both withheld, because whichever of them was served
// could be the wrong one. What a tool may do is no business of this package:
// profiles decide, and descriptions and annotations are what the upstream claims.
package catalog
