package clientfile

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// A tomlPart is one expression of a file: the header of a table, or a key with its value. It takes whole lines.
type tomlPart struct {
	path     []string // from the root
	from, to int      // to is behind the end of the last line
	header   bool
}

func tomlDecode(text []byte) (any, error) {
	root := map[string]any{}
	if err := toml.Unmarshal(text, &root); err != nil {
		return nil, err
	}
	return root, nil
}

func tomlParts(text string) (parts []tomlPart, err error) {
	var p unstable.Parser
	p.Reset([]byte(text))
	var table []string
	for p.NextExpression() {
		e := p.Expression()
		var path []string
		from := -1
		for key := e.Key(); key.Next(); {
			if n := key.Node(); from < 0 {
				from = int(n.Raw.Offset)
			}
			path = append(path, string(key.Node().Data))
		}
		part := tomlPart{path: path, header: e.Kind != unstable.KeyValue}
		end := from
		if part.header {
			table = path
		} else {
			part.path = slices.Concat(table, path)
			end = int(e.Raw.Offset + e.Raw.Length)
		}
		part.from = strings.LastIndexByte(text[:from], '\n') + 1
		if n := strings.IndexByte(text[end:], '\n'); n >= 0 {
			part.to = end + n + 1
		} else {
			part.to = len(text)
		}
		parts = append(parts, part)
	}
	return parts, p.Error()
}

// within reports whether a part belongs to the server of a name at path.
func (p *tomlPart) within(path []string, name string) bool {
	return len(p.path) > len(path) && slices.Equal(p.path[:len(path)], path) && p.path[len(path)] == name
}

func tomlServers(text string, path []string) (all []Server, err error) {
	root, err := tomlDecode([]byte(text))
	if err != nil {
		return nil, err
	}
	at, ok := root, true
	for i, key := range path {
		m, _ := at.(map[string]any)
		if at, ok = m[key]; !ok {
			return nil, nil
		}
		if _, ok = at.(map[string]any); !ok {
			return nil, fmt.Errorf("%s is no table", strings.Join(path[:i+1], "."))
		}
	}
	parts, err := tomlParts(text)
	if err != nil {
		return nil, err
	}
	servers := at.(map[string]any)
	first := func(name string) int { // those inside of an inline table come last
		if i := slices.IndexFunc(parts, func(p tomlPart) bool { return p.within(path, name) }); i >= 0 {
			return i
		}
		return len(parts)
	}
	names := slices.SortedFunc(maps.Keys(servers), func(a, b string) int {
		return cmp.Or(cmp.Compare(first(a), first(b)), cmp.Compare(a, b))
	})
	for _, name := range names {
		value, _ := servers[name].(map[string]any)
		all = append(all, Server{Name: name, Value: value, Text: tomlText(text, parts, path, name, servers[name])})
	}
	return all, nil
}

// tomlText is a server as tables of its own: as they are written, or written anew where it stands in another table. It
// is empty for what is no server.
func tomlText(text string, parts []tomlPart, path []string, name string, value any) string {
	var b strings.Builder
	for _, chunk := range tomlChunks(parts, path, name) {
		if !parts[chunk[0]].header {
			b.Reset()
			break
		}
		b.WriteString(text[parts[chunk[0]].from:parts[chunk[1]].to])
	}
	if b.Len() > 0 {
		return b.String()
	}
	if _, ok := value.(map[string]any); !ok {
		return ""
	}
	nested := any(map[string]any{name: value})
	for _, key := range slices.Backward(path) {
		nested = map[string]any{key: nested}
	}
	written, err := toml.Marshal(nested)
	if err != nil {
		return "" // it cannot be put back into a file that was changed; the whole file can
	}
	lines := strings.SplitAfter(string(written), "\n")
	return strings.Join(lines[min(len(path), len(lines)):], "") // less the headers above it
}

// tomlChunks are the parts of a server that follow each other: the first and the last of each group.
func tomlChunks(parts []tomlPart, path []string, name string) (chunks [][2]int) {
	for i := range parts {
		if !parts[i].within(path, name) {
			continue
		}
		if n := len(chunks); n > 0 && chunks[n-1][1] == i-1 {
			chunks[n-1][1] = i
		} else {
			chunks = append(chunks, [2]int{i, i})
		}
	}
	return chunks
}

var errInlineTable = errors.New("its servers stand in an inline table: give each a table of its own, such as " +
	"[mcp_servers.NAME]")

func tomlExchange(text string, path, out []string, in []Entry) (string, error) {
	end := newline(text)
	var blocks strings.Builder
	for i, e := range in {
		if i > 0 {
			blocks.WriteString(end)
		}
		blocks.WriteString(tomlEntry(path, e, end))
	}
	block := blocks.String()
	for _, name := range out {
		parts, err := tomlParts(text)
		if err != nil {
			return "", err
		}
		chunks := tomlChunks(parts, path, name)
		if len(chunks) == 0 {
			return "", errInlineTable
		}
		for i, chunk := range slices.Backward(chunks) {
			from, to := parts[chunk[0]].from, parts[chunk[1]].to
			if i == 0 && block != "" && parts[chunk[0]].header {
				text, block = text[:from]+block+text[to:], ""
				continue
			}
			text = text[:from] + withoutBlankLines(text[:from], text[to:])
		}
	}
	if block == "" {
		return text, nil
	}
	switch {
	case text == "" || strings.HasSuffix(text, end+end):
	case strings.HasSuffix(text, "\n"):
		text += end
	default:
		text += end + end
	}
	return text + block, nil
}

// withoutBlankLines is what follows a removed block, less blank lines if there is one before it, or nothing.
func withoutBlankLines(before, after string) string {
	if before != "" && !strings.HasSuffix(before, "\n\n") && !strings.HasSuffix(before, "\n\r\n") {
		return after
	}
	for {
		line, rest, found := strings.Cut(after, "\n")
		if !found || strings.TrimSpace(line) != "" {
			return after
		}
		after = rest
	}
}

func tomlEntry(path []string, e Entry, end string) string {
	if e.Text != "" {
		if !strings.HasSuffix(e.Text, "\n") {
			return e.Text + end
		}
		return e.Text
	}
	keys := make([]string, 0, len(path)+1)
	for _, key := range append(slices.Clone(path), e.Name) {
		keys = append(keys, tomlKey(key))
	}
	var b strings.Builder
	b.WriteString("[" + strings.Join(keys, ".") + "]" + end)
	for _, f := range e.Fields {
		b.WriteString(tomlKey(f.Key) + " = " + inline(f.Value, " = ") + end)
	}
	return b.String()
}

func tomlKey(key string) string {
	const bare = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
	if key != "" && strings.Trim(key, bare) == "" {
		return key
	}
	return quoted(key)
}
