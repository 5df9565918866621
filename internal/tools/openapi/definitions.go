package openapi

import (
	"fmt"
	"slices"

	"github.com/codemode-project/codemode/internal/strictjson"
)

// schemaOf translates the schema of a component.
func (d *Document) schemaOf(ref string, input bool) *schema {
	key := fmt.Sprint(input, " ", ref)
	d.cache.mu.Lock()
	s := d.cache.schemas[key]
	d.cache.mu.Unlock()
	if s != nil {
		return s
	}
	t := &translator{doc: d, input: input}
	if v, err := d.component(ref); err != nil {
		t.out, t.err = append(t.out, "{}"...), err
	} else {
		t.schema(v, 0)
	}
	s = &schema{t.out, t.refs, t.err, t.looked + d.length(ref)}
	d.cache.mu.Lock()
	defer d.cache.mu.Unlock()
	d.cache.room(len(s.text))
	d.cache.schemas[key] = s
	return s
}

// definitions appends what the references reach as "$defs", and returns the first error of an input. depth is how many
// types of types of a result are shown; 0 is all, of an input.
func (d *Document) definitions(out []byte, from []string, depth int) ([]byte, error) {
	input, most := depth == 0, outputMax
	if input {
		most = inputMax
	}
	var err error
	cost, seen := 0, map[string]int{} // how deep a component is
	for _, ref := range from {
		seen[ref] = 1
	}
	queue := slices.Clone(from)
	for i := 0; i < len(queue); i++ {
		ref := queue[i]
		if i == 0 {
			out = append(out, `,"$defs":{`...)
		} else {
			out = append(out, ',')
		}
		out = append(strictjson.AppendString(out, definitionName(ref)), ':')
		var s *schema
		if shown := i < typesMax && len(out) < most && cost < lookedMax && (input || seen[ref] <= depth); shown {
			s = d.schemaOf(ref, input)
			cost += s.cost
		}
		if s == nil || len(out)+len(s.text) > most {
			out = append(out, `{"description":"not shown"}`...)
			continue
		}
		if err == nil && input {
			err = s.err
		}
		out = append(out, s.text...)
		for _, next := range s.refs {
			if seen[next] == 0 {
				seen[next] = seen[ref] + 1
				queue = append(queue, next)
			}
		}
	}
	if len(queue) > 0 {
		out = append(out, '}')
	}
	return out, err
}
