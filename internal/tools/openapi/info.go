package openapi

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"
)

// finish reads what describes the API as a whole, and names the operations. top has the members of the document besides
// paths and components.
func (d *Document) finish(top map[string]json.RawMessage) error {
	switch version := bare(top["openapi"]); {
	case strings.HasPrefix(version, "3."):
		d.Format = "OpenAPI " + cut(version, 20)
	case bare(top["swagger"]) == "2.0":
		d.Format, d.swagger = "Swagger 2.0", true
	default:
		return errors.New(`it is no description of an API: neither "openapi": "3..." nor "swagger": "2.0" is in it`)
	}
	var info struct {
		Title, Description string
		Version            json.RawMessage
	}
	_ = json.Unmarshal(top["info"], &info) // what is no text says nothing
	d.Title, d.Version, d.About = cut(info.Title, 200), cut(bare(info.Version), 50), cut(info.Description, 1000)
	if d.swagger {
		d.addressOfSwagger(top)
		d.consumes, d.produces = list(top["consumes"]), list(top["produces"])
		d.schemes(top["securityDefinitions"])
	} else {
		d.Servers = serversIn(top["servers"])
		for pointer, n := range d.known {
			const prefix = "#/components/securitySchemes/"
			if name, ok := strings.CutPrefix(pointer, prefix); ok && d.parts[n].at.len <= restMax {
				text, err := d.text(d.parts[n].at)
				if err == nil {
					d.scheme(name, text)
				}
			}
		}
	}
	slices.SortFunc(d.Schemes, func(a, b Scheme) int { return cmp.Compare(a.Key, b.Key) })
	d.linkOperations()
	return nil
}

// bare is a text, or a number as it is written: authors of YAML write versions such as 3.1 without quotes.
func bare(raw json.RawMessage) string {
	if text := unquoted(raw); text != "" || len(raw) == 0 || raw[0] == '{' || raw[0] == '[' {
		return text
	}
	return string(raw)
}

// list reads a list of texts; nil for anything else.
func list(raw json.RawMessage) (all []string) {
	if json.Unmarshal(raw, &all) != nil {
		return nil
	}
	return all
}

// serversIn are the addresses in a list of servers.
func serversIn(raw json.RawMessage) (addresses []string) {
	var all []struct {
		URL       string
		Variables map[string]struct{ Default any }
	}
	_ = json.Unmarshal(raw, &all)
	for _, s := range all[:min(len(all), 20)] {
		s.URL = cut(s.URL, idMax)
		for name, v := range s.Variables {
			if text, ok := v.Default.(string); ok {
				s.URL = cut(strings.ReplaceAll(s.URL, "{"+name+"}", cut(text, idMax)), idMax)
			}
		}
		if s.URL != "" {
			addresses = append(addresses, s.URL)
		}
	}
	return addresses
}

func (d *Document) addressOfSwagger(top map[string]json.RawMessage) {
	var host, path string
	_ = json.Unmarshal(top["host"], &host)
	_ = json.Unmarshal(top["basePath"], &path)
	switch schemes := list(top["schemes"]); {
	case host == "" && path != "":
		d.Servers = []string{path}
	case host != "" && len(schemes) > 0 && !slices.Contains(schemes, "https"):
		d.Servers = []string{schemes[0] + "://" + host + path}
	case host != "":
		d.Servers = []string{"https://" + host + path}
	}
}

func (d *Document) schemes(raw json.RawMessage) {
	var all map[string]json.RawMessage
	_ = json.Unmarshal(raw, &all)
	for name, one := range all {
		d.scheme(name, one)
	}
}

// scheme reads one security scheme. The flow with both addresses counts, then any.
func (d *Document) scheme(name string, raw json.RawMessage) {
	type flow struct {
		AuthorizationURL, TokenURL string
		Scopes                     map[string]any
	}
	var s struct {
		Type, In, Name, Scheme string
		Flows                  map[string]flow
		flow                   // of Swagger 2
	}
	if json.Unmarshal(raw, &s) != nil || len(d.Schemes) >= notesMax {
		return
	}
	one := Scheme{Key: name, Type: s.Type, In: s.In, Name: s.Name, Scheme: strings.ToLower(s.Scheme)}
	if s.Type == "basic" { // Swagger 2
		one.Type, one.Scheme = "http", "basic"
	}
	best := s.flow
	for _, kind := range []string{"implicit", "password", "clientCredentials", "authorizationCode"} {
		if f, ok := s.Flows[kind]; ok && f.TokenURL != "" {
			best = f
		}
	}
	one.AuthorizationURL, one.TokenURL = best.AuthorizationURL, best.TokenURL
	for scope := range best.Scopes {
		one.Scopes = append(one.Scopes, scope)
	}
	slices.Sort(one.Scopes)
	d.Schemes = append(d.Schemes, one)
}
