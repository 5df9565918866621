package approvals

import "github.com/codemode-project/codemode/internal/asktest"

var request, write, inquiry, issues = asktest.Request, asktest.Write, asktest.Inquiry, asktest.Issues
