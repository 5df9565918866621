// Command bundle writes editor.js, the editor of the console, from console/editor/src and the npm packages of
// package-lock.json: run it as "make editor".
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

func main() {
	script, err := bundle(".")
	if err == nil {
		err = os.WriteFile("editor.js", script, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bundle:", err)
		os.Exit(1)
	}
}

// bundle is the minified script of the folder console/editor, and behind it the licences of the packages in it.
func bundle(folder string) ([]byte, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	built := api.Build(api.BuildOptions{
		AbsWorkingDir: folder, EntryPoints: []string{"src/editor.js"}, Bundle: true, Metafile: true,
		Format: api.FormatIIFE, Target: api.ES2022, Charset: api.CharsetASCII, LegalComments: api.LegalCommentsNone,
		MinifyWhitespace: true, MinifyIdentifiers: true, MinifySyntax: true,
	})
	if len(built.Errors) > 0 {
		return nil, errors.New(strings.Join(api.FormatMessages(built.Errors, api.FormatMessagesOptions{}), ""))
	}
	notices, err := licences(folder, built.Metafile)
	if err != nil {
		return nil, err
	}
	return append(built.OutputFiles[0].Contents, notices...), nil
}

// packageOf finds the npm package of a file of the bundle.
var packageOf = regexp.MustCompile(`^node_modules/((?:@[^/]+/)?[^/]+)/`)

// licences is a comment with the text of the licence of each package in the bundle.
func licences(folder, metafile string) (string, error) {
	var meta struct{ Inputs map[string]struct{} }
	if err := json.Unmarshal([]byte(metafile), &meta); err != nil {
		return "", err
	}
	of := map[string][]string{} // names of packages by their licence
	for _, input := range slices.Sorted(maps.Keys(meta.Inputs)) {
		found := packageOf.FindStringSubmatch(input)
		if found == nil {
			continue
		}
		text, err := licence(filepath.Join(folder, "node_modules", found[1]))
		if err != nil {
			return "", fmt.Errorf("the licence of the package %s: %w", found[1], err)
		}
		if !slices.Contains(of[text], found[1]) {
			of[text] = append(of[text], found[1])
		}
	}
	var all strings.Builder
	byName := func(a, b string) int { return strings.Compare(of[a][0], of[b][0]) }
	for _, text := range slices.SortedFunc(maps.Keys(of), byName) {
		fmt.Fprintf(&all, "/*!\n%s\n\n%s\n*/\n", strings.Join(of[text], ", "), strings.ReplaceAll(text, "*/", "* /"))
	}
	return all.String(), nil
}

// licence is the text of a package's licence or, where it has no file with one, what its package.json says.
func licence(folder string) (string, error) {
	files, err := filepath.Glob(filepath.Join(folder, "[Ll][Ii][Cc][Ee][Nn][CcSs][Ee]*"))
	if err != nil {
		return "", err
	}
	if len(files) > 0 {
		text, err := os.ReadFile(files[0])
		return strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n", "\n")), err
	}
	text, err := os.ReadFile(filepath.Join(folder, "package.json"))
	if err != nil {
		return "", err
	}
	var says struct{ License, Author string }
	if err := json.Unmarshal(text, &says); err != nil {
		return "", err
	}
	if says.License == "" || says.Author == "" {
		return "", errors.New("neither a file nor package.json says it")
	}
	return says.License + " licence, " + says.Author, nil
}
