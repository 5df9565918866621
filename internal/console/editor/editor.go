// Package editor is the editor of configuration files on the console's page of rules: a script that makes one of a text
// area, and the JSON schema that the script completes and checks by. README.md tells how the script is made.
package editor

import (
	_ "embed"
	"encoding/json"
	"errors"

	"github.com/codemode-project/codemode/config"
)

//go:embed editor.js
var script []byte

// File is a file that browsers load, nil for an unknown name: the script, editor.js, and the schema, schema.json.
func File(name string) []byte {
	switch name {
	case "editor.js":
		return script
	case "schema.json":
		return config.Schema()
	}
	return nil
}

// A mark is a problem in the text, as the script reads it. Line and Column count from 1, Column and Length in code
// points.
type mark struct {
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Length  int    `json:"length"`
	Message string `json:"message"`
}

// Marks is JSON with the places of a text at which the editor shows what is wrong with it: those of the problems in err
// that are in this file. Without any it is "".
func Marks(err error, file string) string {
	var problems config.Problems
	if !errors.As(err, &problems) {
		return ""
	}
	var marks []mark
	for _, p := range problems {
		if p.File != file || p.Line == 0 {
			continue
		}
		message := p.Message
		if p.Hint != "" {
			message += "\n" + p.Hint
		}
		marks = append(marks, mark{p.Line, p.Column, max(p.Length, 1), message})
	}
	if marks == nil {
		return ""
	}
	text, err := json.Marshal(marks)
	if err != nil {
		return ""
	}
	return string(text)
}
