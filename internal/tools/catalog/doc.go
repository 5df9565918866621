// Package catalog holds the tools that programs can call right now.
//
// [Catalog.Replace] fills a [Catalog] one upstream at a time. Readers take no locks: they see either the old or the new
// list of an upstream, never a mixture. Ask it with [Catalog.Find] for one tool by its canonical name, with
// [Catalog.Search] for the tools that match a few words, and with [Declarations] for the TypeScript that says how to
// call them:
//
//	c := catalog.New()
//	c.Replace("files", []catalog.Tool{{Raw: "read_text_file", Input: schema}})
//	t, err := c.Find("files__read_text_file")
//	err = t.Validate(ctx, call.Unread([]byte(`{"path": 1}`))) // names /path, what was expected and what came
//
// [Tool.ValidateResult] checks results against the output schema. For a
// tool without one [Catalog.Learn] takes the shape of its first result, names and
// types without values, so that the next program knows what to expect.
//
// Names are canonical: <server>__<tool>, see [call.Name]. The catalogue withholds
// two tools with the same name, because either could be the wrong one. It does not
// decide what a tool may do: profiles do, and descriptions and annotations are claims
// of the upstream.
package catalog
