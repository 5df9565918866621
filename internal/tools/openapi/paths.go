package openapi

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// path reads one path with its operations.
func (x *reader) path(template string) error {
	_, twice := x.paths[template]
	switch {
	case twice:
		x.note("it has the path %.200q twice: the first one counts", template)
		return x.decoder.SkipValue()
	case len(x.paths) >= pathsMax:
		x.note("it has more than %d paths: the rest is left out", pathsMax)
		return x.decoder.SkipValue()
	}
	i := &item{path: strings.Clone(template), above: &above{}}
	x.paths[i.path] = span{}
	from, begin := len(x.doc.Operations), int64(-1)
	err := x.members(func(name string) error {
		if begin < 0 {
			begin = x.begin
		}
		return x.member(i, name)
	})
	if begin >= 0 && err == nil {
		x.paths[i.path] = span{begin, int32(x.at + x.decoder.InputOffset() - begin)}
	}
	x.serve(i, x.doc.Operations[from:])
	return err
}

// member reads one member of an item.
func (x *reader) member(i *item, name string) error {
	method := methodOf(name)
	switch {
	case name == "parameters" && i.above.parameters.at.len == 0:
		v, at, err := x.value()
		if err == nil {
			i.above.parameters, err = x.part(at, v)
		}
		return err
	case name == "servers" && i.servers == nil:
		v, _, err := x.value()
		i.servers = serversIn(json.RawMessage(v))
		return err
	case name == "$ref" && i.ref == "":
		v, _, err := x.value()
		if i.ref = cut(unquoted(v), idMax); err == nil {
			x.referred = append(x.referred, i)
		}
		return err
	case method == "":
	case slices.Contains(i.methods, method):
		x.note("it has %s %.200s twice: the first one counts", method, i.path)
	default:
		i.methods = append(i.methods, method)
		return x.operation(&Operation{Method: method, Path: i.path, doc: x.doc, above: i.above})
	}
	return x.decoder.SkipValue()
}

// methodOf is the method of a member of a path; "" if it is no operation.
func methodOf(name string) string {
	if slices.Contains([]string{"get", "put", "post", "delete", "options", "head", "patch", "trace"}, name) {
		return strings.ToUpper(name)
	}
	return ""
}

func (x *reader) operation(o *Operation) error {
	if x.decoder.PeekKind() != '{' {
		x.leave(Left{o.Method, o.Path, "", "it is no object"})
		return x.decoder.SkipValue()
	}
	v, at, err := x.value()
	switch {
	case err != nil:
		return err
	case at.len > operationMax:
		x.leave(Left{o.Method, o.Path, "", fmt.Sprintf("its description has more than %d bytes", operationMax)})
		return nil
	case len(x.doc.Operations) >= operationsMax:
		x.note("it has more than %d operations: the rest is left out", operationsMax)
		return nil
	}
	var summary, description []byte
	for name, raw := range topMembers(v) {
		switch name {
		case "operationId":
			o.ID = cut(unquoted(raw), idMax)
		case "summary":
			summary = raw[:min(len(raw), textMax)]
		case "description":
			description = raw[:min(len(raw), textMax)]
		case "servers":
			if own := serversIn(raw); own != nil {
				x.own[o] = own
			}
		}
	}
	text := unquoted(summary)
	if strings.TrimSpace(text) == "" {
		text = unquoted(description)
	}
	o.Effect, o.Why = effectOf(o.Method, o.Path, o.ID, text)
	o.Summary = cut(strings.Join(strings.Fields(cut(text, 4*summaryMax)), " "), summaryMax)
	x.doc.Operations = append(x.doc.Operations, o)
	o.part, err = x.part(at, v)
	return err
}

// leave lists an operation that cannot be called.
func (x *reader) leave(l Left) {
	if len(x.doc.Left) >= leftMax {
		x.note("more than %d operations cannot be called: the rest is not listed", leftMax)
		return
	}
	x.doc.Left = append(x.doc.Left, l)
}

// follow reads the items that paths refer to. An item that refers to another one is followed no further.
func (x *reader) follow() error {
	left := int64(followedMax)
	for _, i := range x.referred {
		at, ok := x.itemAt(i.ref)
		if left -= int64(at.len); !ok || left < 0 {
			x.leave(Left{"*", i.path, "", fmt.Sprintf("the path refers to %.200q, which is not followed", i.ref)})
			continue
		}
		from := len(x.doc.Operations)
		x.decode(at)
		if err := x.members(func(name string) error { return x.member(i, name) }); err != nil {
			return err
		}
		x.serve(i, x.doc.Operations[from:])
		if len(x.doc.Operations) == from {
			x.leave(Left{"*", i.path, "", fmt.Sprintf("the path refers to %.200q, which has no operations", i.ref)})
		}
	}
	return nil
}

// itemAt returns where the item is that a reference points at.
func (x *reader) itemAt(ref string) (span, bool) {
	if path, ok := strings.CutPrefix(ref, "#/"+pathsPart+"/"); ok {
		if plain, err := url.PathUnescape(path); err == nil {
			path = plain
		}
		at := x.paths[strings.ReplaceAll(strings.ReplaceAll(path, "~1", "/"), "~0", "~")]
		return at, at.len > 0
	}
	n, ok := x.doc.known[componentOf(ref)]
	if !ok || !strings.HasPrefix(ref, "#/components/pathItems/") {
		return span{}, false
	}
	return x.doc.parts[n].at, x.doc.parts[n].at.len > 0
}

// serve notes the servers of an item for its operations that have none of their own.
func (x *reader) serve(i *item, all []*Operation) {
	for _, o := range all {
		if i.servers != nil && x.own[o] == nil {
			x.own[o] = i.servers
		}
	}
}

// leaveOthers leaves the operations that only other servers have than those of the document: they would be sent to the
// wrong place. If the document has none, those of its first operation are the ones.
func (x *reader) leaveOthers() {
	d := x.doc
	for i := 0; i < len(d.Operations) && len(d.Servers) == 0; i++ {
		d.Servers = x.own[d.Operations[i]]
	}
	bare := func(address string) string { // http and https are one server
		return strings.TrimRight(strings.TrimPrefix(strings.TrimPrefix(address, "https:"), "http:"), "/")
	}
	same := func(own string) bool {
		return slices.ContainsFunc(d.Servers, func(s string) bool { return bare(s) == bare(own) })
	}
	d.Operations = slices.DeleteFunc(d.Operations, func(o *Operation) bool {
		own := x.own[o]
		if len(own) == 0 || slices.ContainsFunc(own, same) {
			return false
		}
		x.leave(Left{o.Method, o.Path, o.ID, fmt.Sprintf("it has a server of its own, %.200q", own[0])})
		return true
	})
}
