package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// A reason says why a mistake makes no difference that a caller could see. In the file it is one
// paragraph, the first line naming the mutant by what stands there, so that it is found again when lines move:
//
//	glob.go boundary 1: for i <= len(pattern) {
//	    the loop ends by the return inside it
//
// The number counts mutants of that kind on equal lines of the file. A star stands for all of them.
type reason struct {
	file, kind, nth, text string
	line                  int
	why                   string
	used                  int
}

type reasons []*reason

func readEquivalent(name string) (reasons, error) {
	if name == "" {
		return nil, nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var all reasons
	for i, line := range strings.Split(string(text), "\n") {
		switch words := strings.TrimSpace(line); {
		case words == "" || strings.HasPrefix(words, "# "):
		case line != strings.TrimLeft(line, " \t"):
			if len(all) == 0 {
				return nil, fmt.Errorf("%s:%d: a reason without a mutant", name, i+1)
			}
			all[len(all)-1].why += words + " "
		default:
			head, rest, _ := strings.Cut(line, ": ")
			r := &reason{line: i + 1, text: rest}
			if n, _ := fmt.Sscan(head, &r.file, &r.kind, &r.nth); n != 3 {
				return nil, fmt.Errorf("%s:%d: want FILE KIND NUMBER: the line", name, i+1)
			}
			all = append(all, r)
		}
	}
	for _, r := range all {
		if r.why == "" {
			return nil, fmt.Errorf("%s:%d: no reason is given", name, r.line)
		}
	}
	return all, nil
}

// mark tells the sites that are listed.
func (all reasons) mark(sites []*site) {
	for _, s := range sites {
		for _, r := range all {
			if r.file == s.file && r.kind == s.kind && r.text == s.text && (r.nth == "*" || r.nth == strconv.Itoa(s.nth)) {
				s.equivalent = r
				r.used++
			}
		}
	}
}
