// Package clientfile exchanges the MCP servers in a configuration file of another program. The rest of the file stays
// byte for byte: comments, order, line ends and indentation.
//
//	servers, err := clientfile.Servers(clientfile.TOML, text, []string{"mcp_servers"})
//	text, err = clientfile.Exchange(clientfile.TOML, text, []string{"mcp_servers"}, []string{"github"}, in)
//
// Each exchange is read back and compared with what was meant. If anything but the servers that go and come would mean
// something else, the result is an error, and no text. Which files there are, and what the servers mean, is the
// business of package setup.
package clientfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
)

// The formats. In each but YAMLList, servers are members of one object, by name.
const (
	JSON     Format = iota // with comments and trailing commas, which not all clients read: we only keep them
	TOML                   // one table for each server
	YAML                   // one mapping, in block style
	YAMLList               // a sequence in block style; each server has its name as "name"
)

// maxFile is the largest file that is edited, in bytes. Those of clients have a few KB; Claude Code's can have some MB.
const maxFile = 64 << 20

// mark is the byte order mark with which some editors begin a file. It stays.
var mark = []byte("\ufeff")

// Servers reads the servers that stand at path, in the order of the file. There are none if the file has no such path.
func Servers(f Format, text []byte, path []string) ([]Server, error) {
	if len(text) > maxFile {
		return nil, fmt.Errorf("it is larger than %d MiB", maxFile>>20)
	}
	text = bytes.TrimPrefix(text, mark)
	switch f {
	case TOML:
		return tomlServers(string(text), path)
	case YAML, YAMLList:
		return yamlServers(string(text), path, f == YAMLList)
	}
	return jsonServers(string(text), path)
}

// Exchange takes the servers named out from path, and puts in there. A name of out that the file lacks is no error; a
// name of in that the file has, and that does not go out, is one.
func Exchange(f Format, text []byte, path, out []string, in []Entry) ([]byte, error) {
	if rest, marked := bytes.CutPrefix(text, mark); marked {
		changed, err := Exchange(f, rest, path, out, in)
		if err != nil {
			return nil, err
		}
		return slices.Concat(mark, changed), nil
	}
	had, err := Servers(f, text, path)
	if err != nil {
		return nil, err
	}
	for _, e := range in {
		if slices.ContainsFunc(had, func(s Server) bool { return s.Name == e.Name && !slices.Contains(out, e.Name) }) {
			return nil, fmt.Errorf("it has a server %q already", e.Name)
		}
	}
	out = slices.DeleteFunc(slices.Clone(out), func(name string) bool {
		return !slices.ContainsFunc(had, func(s Server) bool { return s.Name == name })
	})
	if len(out) == 0 && len(in) == 0 {
		return text, nil
	}
	var changed string
	switch f {
	case TOML:
		changed, err = tomlExchange(string(text), path, out, in)
	case YAML, YAMLList:
		changed, err = yamlExchange(string(text), path, f == YAMLList, out, in)
	default:
		changed, err = jsonExchange(string(text), path, out, in)
	}
	if err == nil {
		err = compare(f, text, []byte(changed), path, out, in)
	}
	if err != nil {
		return nil, err
	}
	return []byte(changed), nil
}

// compare refuses a text that differs in more than the servers that went and came.
func compare(f Format, before, after []byte, path, out []string, in []Entry) error {
	was, err := decode(f, before)
	if err != nil {
		return err
	}
	is, err := decode(f, after)
	if err != nil {
		return errMeansOther
	}
	names := slices.Clone(out)
	for _, e := range in {
		names = append(names, e.Name)
	}
	serversWere, err := Servers(f, before, path)
	if err != nil {
		return err
	}
	serversAre, err := Servers(f, after, path)
	if err != nil {
		return errMeansOther
	}
	var want []string // kept, in order, then those that came, in any order
	for _, s := range serversWere {
		if !slices.Contains(names, s.Name) {
			want = append(want, s.Name)
		}
	}
	var kept, came []string
	for _, s := range serversAre {
		i := slices.IndexFunc(in, func(e Entry) bool { return e.Name == s.Name })
		if i < 0 {
			kept = append(kept, s.Name)
			continue
		}
		came = append(came, s.Name)
		if in[i].Fields != nil && !sameFields(f, s.Value, in[i]) ||
			in[i].Value != nil && !reflect.DeepEqual(s.Value, in[i].Value) {
			return errMeansOther
		}
	}
	if !slices.Equal(want, kept) || len(came) != len(in) ||
		!reflect.DeepEqual(without(was, path, names), without(is, path, names)) {
		return errMeansOther
	}
	return nil
}

// sameFields reports whether a server that was read means the entry that was written.
func sameFields(f Format, value map[string]any, e Entry) bool {
	want := map[string]any{}
	if f == YAMLList {
		want["name"] = e.Name
	}
	for _, field := range e.Fields {
		want[field.Key] = field.Value
	}
	a, errA := json.Marshal(value)
	b, errB := json.Marshal(want)
	return errA == nil && errB == nil && bytes.Equal(a, b)
}

// without is a decoded file less the servers of these names. A path that leads to nothing else is left out.
func without(v any, path, names []string) any {
	if len(path) == 0 {
		switch v := v.(type) {
		case map[string]any:
			kept := map[string]any{}
			for name, value := range v {
				if !slices.Contains(names, name) {
					kept[name] = value
				}
			}
			if len(kept) > 0 {
				return kept
			}
			return nil
		case []any:
			kept := slices.DeleteFunc(slices.Clone(v), func(item any) bool {
				m, _ := item.(map[string]any)
				name, _ := m["name"].(string)
				return slices.Contains(names, name)
			})
			if len(kept) > 0 {
				return kept
			}
			return nil
		}
		return v
	}
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	kept := map[string]any{}
	for key, value := range m {
		if key == path[0] {
			value = without(value, path[1:], names)
		}
		if key != path[0] || value != nil {
			kept[key] = value
		}
	}
	if len(kept) == 0 {
		return nil
	}
	return kept
}

func decode(f Format, text []byte) (any, error) {
	switch f {
	case TOML:
		return tomlDecode(text)
	case YAML, YAMLList:
		return yamlDecode(text)
	}
	return jsonDecode(string(text))
}
