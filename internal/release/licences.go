package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// licenceFile is where licences writes.
const licenceFile = "THIRD_PARTY_LICENSES"

// A part is a module in one of the binaries, or something else that is in them.
type part struct {
	name, version string
	texts         []string // licences and notices
	spdx          string   // the identifier of its licence, as spdx.org lists it
}

// embedded is what the binaries contain that is neither Go's nor a module.
var embedded = []string{
	"QuickJS-ng, in quickjs.wasm",
	"wasi-libc, in quickjs.wasm",
	"CodeMirror and others, in editor.js",
}

// licences writes the licences of everything in the binaries to a file at the root of the repository.
func licences(root string, check bool) error {
	parts, err := partsOf(root)
	if err != nil {
		return err
	}
	text, path := printLicences(parts), filepath.Join(root, licenceFile)
	if !check {
		return os.WriteFile(path, text, 0o644)
	}
	if there, err := os.ReadFile(path); err != nil || !bytes.Equal(there, text) {
		return errors.Join(err, fmt.Errorf("%s is not what the modules give: make licences writes it", licenceFile))
	}
	return nil
}

// partsOf finds what is in the binaries: the modules of all systems, Go's library, the guest, and the editor of the
// page.
func partsOf(root string) ([]part, error) {
	modules, err := modulesOf(root)
	if err != nil {
		return nil, err
	}
	// Its version is not written: the file would change with each machine's Go.
	parts := []part{{name: "Go's standard library", spdx: "BSD-3-Clause"}}
	goRoot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("asking where Go is: %w", err)
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(goRoot)), "LICENSE"))
	if err != nil {
		return nil, fmt.Errorf("reading Go's licence: %w", err)
	}
	parts[0].texts = []string{string(text)}
	for _, of := range []part{
		{name: embedded[0], spdx: "MIT", texts: []string{"guest/LICENSE.quickjs"}},
		{name: embedded[1], spdx: "MIT", texts: []string{"guest/LICENSE.wasi-libc"}},
	} {
		text, err := os.ReadFile(filepath.Join(root, of.texts[0]))
		if err != nil {
			return nil, err
		}
		of.texts[0] = string(text)
		parts = append(parts, of)
	}
	editor, err := os.ReadFile(filepath.Join(root, "internal/console/editor/editor.js"))
	if err != nil {
		return nil, err
	}
	i := bytes.Index(editor, []byte("\n/*!"))
	if i < 0 {
		return nil, errors.New("internal/console/editor/editor.js has no licences: make editor builds it with them")
	}
	parts = append(parts, part{name: embedded[2], spdx: "MIT", texts: []string{string(editor[i+1:])}})
	for name, dir := range modules {
		p := part{name: name}
		p.name, p.version, _ = strings.Cut(name, "@")
		if p.texts, err = textsOf(dir); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if p.spdx = identify(p.texts[0]); p.spdx == "" {
			return nil, fmt.Errorf("%s: its licence is none that internal/release knows: may we distribute it?", name)
		}
		parts = append(parts, p)
	}
	slices.SortFunc(parts[4:], func(a, b part) int { return cmp.Compare(a.name, b.name) })
	return parts, nil
}

// modulesOf lists the modules in the binaries of all systems, as path@version, and their folders.
func modulesOf(root string) (map[string]string, error) {
	const format = "{{with .Module}}{{if not .Main}}{{.Path}}@{{.Version}}\t{{.Dir}}{{end}}{{end}}"
	modules := map[string]string{}
	for _, of := range systems {
		cmd := exec.Command("go", "list", "-deps", "-f", format, "./cmd/codemode")
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "GOOS="+of.os, "GOARCH="+of.arch, "CGO_ENABLED=0")
		var problems bytes.Buffer
		cmd.Stderr = &problems
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("listing the modules for %s/%s: %w\n%s", of.os, of.arch, err, &problems)
		}
		for line := range strings.Lines(string(out)) {
			if name, dir, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
				modules[name] = dir
			}
		}
	}
	return modules, nil
}

// aLicence matches the names of files with licences and notices, at the root of a module.
var aLicence = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([.-].*)?$`)

// textsOf reads the licences and notices of a module, the licence first.
func textsOf(dir string) (texts []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.IsDir() || !aLicence.MatchString(e.Name()) || strings.HasSuffix(e.Name(), ".go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		texts = append(texts, strings.ReplaceAll(string(text), "\r\n", "\n"))
	}
	if len(texts) == 0 {
		return nil, errors.New("it has no licence at its root")
	}
	return texts, nil
}

// identify finds the identifier of a licence by what only its text says. "" is one that nobody has looked at.
func identify(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	for _, of := range []struct{ says, spdx string }{
		{"Apache License Version 2.0", "Apache-2.0"},
		{"Mozilla Public License Version 2.0", "MPL-2.0"},
		{"Permission is hereby granted, free of charge, to any person obtaining a copy", "MIT"},
		{"Permission to use, copy, modify, and/or distribute this software for any purpose", "ISC"},
		{"Neither the name", "BSD-3-Clause"},
		{"Redistribution and use in source and binary forms", "BSD-2-Clause"},
	} {
		if strings.Contains(text, of.says) {
			return of.spdx
		}
	}
	return ""
}

// printLicences prints a list of all parts, and then each text once, with the parts that it is for.
func printLicences(parts []part) []byte {
	var to bytes.Buffer
	to.WriteString("codemode is under the licence in the file LICENSE. Its binaries contain the following, under their " +
		"own licences.\nThe command \"make licences\" writes this file.\n\n")
	var order []string
	of := map[string][]string{}
	for _, p := range parts {
		name := strings.TrimSpace(p.name + " " + p.version)
		fmt.Fprintf(&to, "%-14s %s\n", p.spdx, name)
		for _, text := range p.texts {
			text = strings.TrimSpace(text)
			if of[text] == nil {
				order = append(order, text)
			}
			of[text] = append(of[text], name)
		}
	}
	for _, text := range order {
		fmt.Fprintf(&to, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(of[text], "\n"), text)
	}
	return to.Bytes()
}
