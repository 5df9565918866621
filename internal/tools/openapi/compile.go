package openapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// Plan says how arguments become a request. The error says why the operation cannot be called.
func (o *Operation) Plan() (*Plan, error) {
	c := o.compiled()
	return c.plan, c.err
}

// Input is a JSON Schema of the arguments, an object, with all that it refers to. The error is that of Plan.
func (o *Operation) Input() (json.RawMessage, error) {
	c := o.compiled()
	return c.input, c.err
}

func (o *Operation) compiled() *compiled {
	cache := &o.doc.cache
	cache.mu.Lock()
	c := cache.plans[o]
	cache.mu.Unlock()
	if c != nil {
		return c
	}
	c = o.compile()
	cache.mu.Lock()
	defer cache.mu.Unlock()
	if cache.plans == nil || len(cache.plans) >= cachedPlans {
		cache.plans = map[*Operation]*compiled{}
	}
	cache.plans[o] = c
	return c
}

func (o *Operation) compile() *compiled {
	v, err := o.doc.parse(o.at)
	if err != nil {
		return &compiled{err: fmt.Errorf("it cannot be read: %w", err)}
	}
	path, _, _ := strings.Cut(o.Path, "#") // a fragment is not sent
	c := &compiler{translator: &translator{doc: o.doc, input: true}, o: o, v: v, names: map[string]bool{},
		plan: &Plan{Method: o.Method, Path: expansion.ReplaceAllString(path, "{$1}")}}
	if err = c.parameters(); err == nil && o.doc.swagger {
		err = c.bodyOfSwagger()
	} else if err == nil {
		err = c.body()
	}
	if err != nil {
		return &compiled{err: err}
	}
	c.plan.Accept = o.accept(v)
	if (o.Method == http.MethodGet || o.Method == http.MethodPost && o.Effect == Reads) && !c.names[next] {
		c.property(next, `{"type":"object","description":"the next page, as an answer gave it"}`, false)
	}
	out := append([]byte(`{"type":"object","properties":{`), strings.TrimSuffix(string(c.schema), ",")...)
	out = append(out, '}')
	if len(c.needed) > 0 {
		needed, _ := json.Marshal(c.needed) // texts always encode
		out = append(append(out, `,"required":`...), needed...)
	}
	out, err = o.doc.definitions(append(out, `,"additionalProperties":false`...), c.refs, 0)
	if err == nil {
		err = c.err
	}
	if err != nil {
		return &compiled{err: fmt.Errorf("its arguments are not described: %w", err)}
	}
	return &compiled{plan: c.plan, input: append(out, '}')}
}
