package terminal

import (
	"github.com/codemode-project/codemode/internal/asktest"
	"github.com/codemode-project/codemode/internal/hostile"
)

var (
	request, write, inquiry, issues = asktest.Request, asktest.Write, asktest.Inquiry, asktest.Issues
	planned, checkInert             = asktest.Planned, hostile.ShownInert
)
